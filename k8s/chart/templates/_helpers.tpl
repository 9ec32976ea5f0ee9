{{- /* By the digest of the chart's own release, unless a tag is named: then the images are others. */}}
{{- define "wattle.image" -}}
{{- $images := .root.Values.images -}}
{{- with $images.registry }}{{ . }}/{{ end }}{{ get $images .image }}:{{ $images.tag | default .root.Chart.AppVersion }}
{{- if not $images.tag }}{{ with get ($images.digests | default dict) .image }}@{{ . }}{{ end }}{{ end }}
{{- end }}

{{- define "wattle.pull" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The pod's place: priority, selector, tolerations and affinity of one part of the values. */}}
{{- define "wattle.place" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "wattle.annotations" -}}
{{- with .podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* A program's Secret, and what whoever reads its metrics must show. */}}
{{- define "wattle.secrets" -}}
name: secret
projected:
  defaultMode: 0400
  sources:
    - secret: {name: {{ . }}}
    - secret: {name: wattle-metrics, items: [{key: token, path: metrics.token}]}
{{- end }}

{{- /* The second scheduler's tag: the cluster's own version, unless the values name one. What cannot fit is refused. */}}
{{- define "wattle.schedulerTag" -}}
{{- $cluster := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version -}}
{{- $tag := .Values.scheduler.tag | default $cluster -}}
{{- $version := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" $tag -}}
{{- $minor := (semver $version).Minor | int -}}
{{- $its := (semver $cluster).Minor | int -}}
{{- if lt $minor 26 }}
{{- fail (printf "scheduler.tag: %s has no kubescheduler.config.k8s.io/v1 (take 1.26 or later, and the cluster's own minor version)" $tag) }}
{{- end }}
{{- if or (gt $minor $its) (lt (add $minor 1) (int64 $its)) }}
{{- fail (printf "scheduler.tag: %s does not go with a cluster of %s: a scheduler may be one minor version older than the API server, never newer (leave scheduler.tag empty to take the cluster's; without a cluster tell its version by --kube-version)" $tag $cluster) }}
{{- end }}
{{- $tag }}
{{- end }}

{{- /* A span of time in milliseconds. */}}
{{- define "wattle.milliseconds" -}}
{{- if hasSuffix "ms" . }}{{ trimSuffix "ms" . | float64 }}
{{- else if hasSuffix "s" . }}{{ mulf (trimSuffix "s" . | float64) 1000 }}
{{- else }}{{ mulf (trimSuffix "m" . | float64) 60000 }}
{{- end }}
{{- end }}

{{- define "wattle.checkTimes" -}}
{{- if ge (include "wattle.milliseconds" .deadline | float64) (include "wattle.milliseconds" .httpTimeout | float64) }}
{{- fail (printf "shim.deadline: %s is not shorter than scheduler.httpTimeout, %s: what the board or a neutral answer says comes too late" .deadline .httpTimeout) }}
{{- end }}
{{- end }}

{{- define "wattle.restrictedPod" -}}
runAsNonRoot: true
runAsUser: 64460
runAsGroup: 64460
fsGroup: 64460
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "wattle.locked" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* What reads the API server: a token that the kubelet renews, and the cluster's authority. */}}
{{- define "wattle.apiToken" -}}
name: token
projected:
  defaultMode: 0440
  sources:
    - serviceAccountToken: {path: token, expirationSeconds: 3607}
    - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
    - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
{{- end }}

{{- define "wattle.toNames" -}}
- to:
    - namespaceSelector: {}
      podSelector: {matchLabels: {{ toJson .Values.networkPolicy.egress.dns }}}
  ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]
{{- end }}

{{- define "wattle.controllerHost" -}}
wattle-controller.{{ .Values.namespaces.control }}.svc
{{- end }}

{{- define "wattle.agentConfig" -}}
tick: {{ .Values.agent.tick }}
state_dir: /var/lib/wattle
roots: {proc: /host/proc, sys: /host/sys}
controller:
  endpoint: tcp://{{ include "wattle.controllerHost" . }}:7460
  enrol:
    url: https://{{ include "wattle.controllerHost" . }}:7463
    token_file: /var/run/secrets/wattle/token
    ca_file: /etc/wattle-public/ca.pem
http: {address: "::", port: 9460, token_file: /var/run/secrets/wattle-metrics/token}
bpf: {enabled: {{ .Values.agent.bpf }}}
{{- with .Values.agent.clusterNetworks }}
cluster_networks: {{- toYaml . | nindent 2 }}
{{- end }}
log: {format: json}
{{- end }}

{{- define "wattle.controllerConfig" -}}
mode: {{ .Values.controller.mode | quote }}
data_dir: /var/lib/wattle-controller
store: {path: /var/lib/wattle-controller/store.db}
key: /run/wattle/controller.key
allow_list: /var/lib/wattle-controller/allow
telemetry: {endpoint: "tcp://*:7460"}
feed: {endpoint: "tcp://*:7461"}
ask: {endpoint: "tcp://*:7462"}
http: {address: "::", port: 8050, token_file: /run/wattle/metrics.token}
enrol:
  address: "::"
  port: 7463
  tls: {certificate: /run/wattle/tls.crt, key: /run/wattle/tls.key}
  kubernetes: {audience: wattle, accounts: [{{ .Values.namespaces.agents }}/wattle-agent]}
kubernetes: {watch: "on"{{ if .Values.scheduler.enabled }}, schedulers: [{{ .Values.scheduler.name }}]{{ end }}}
reward: {preset: weighted}
{{- if and .Values.replicas.suggest (not (dig "provisioning" "prometheus" "url" "" .Values.controller.config)) }}
{{- fail "replicas.suggest: nobody tells how many requests there are (name a Prometheus: controller.config.provisioning.prometheus)" }}
{{- end }}
{{- if and .Values.replicas.suggest (has (dig "provisioning" "level" "" .Values.controller.config | toString) (list "off" "false")) }}
{{- fail "replicas.suggest: controller.config.provisioning.level is off, so nobody looks at workloads (suggest or requests)" }}
{{- end }}
{{- if or .Values.requests.namespaces .Values.replicas.suggest }}
provisioning:
  {{- if .Values.requests.namespaces }}
  level: requests
  {{- end }}
  {{- if .Values.replicas.suggest }}
  replicas: suggest
  {{- end }}
{{- end }}
log: {format: json}
{{- end }}

{{- define "wattle.shimConfig" -}}
# For the kube-scheduler beside it
listen: {address: 127.0.0.1, port: 8888}
# Probes and metrics
http: {address: "::", port: 9462, token_file: /run/wattle/metrics.token}
controller:
  ask: tcp://{{ include "wattle.controllerHost" . }}:7462
  feed: tcp://{{ include "wattle.controllerHost" . }}:7461
  key: /run/wattle/shim.key
  server_key: /etc/wattle-public/controller.pub
deadline: {{ .Values.shim.deadline }}
filter: {{ .Values.shim.filter }}
log: {format: json}
{{- end }}

{{- define "wattle.schedulerConfig" -}}
# A second kube-scheduler: every default plugin stays on; the shim only adds to the scores.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
{{- if gt (int .Values.scheduler.replicas) 1 }}
  leaderElect: true
  resourceName: wattle-scheduler
  resourceNamespace: {{ .Values.namespaces.control }}
{{- else }}
  leaderElect: false
{{- end }}
# An extender is shown the nodes that were found before scoring: all of them, or it cannot choose the best
percentageOfNodesToScore: {{ .Values.scheduler.percentageOfNodesToScore }}
profiles:
  - schedulerName: {{ .Values.scheduler.name }}
extenders:
  - urlPrefix: http://127.0.0.1:8888
    prioritizeVerb: prioritize
    {{- if .Values.shim.filter }}
    filterVerb: filter
    {{- end }}
    # The winner's 10 times 6 times 10 outvotes fit, balance and image locality together (docs/reference/kubernetes.md)
    weight: {{ .Values.scheduler.weight }}
    # Names only; whole nodes would be megabytes a pod
    nodeCacheCapable: true
    enableHTTPS: false
    # The scheduling of all pods waits for it; the shim answers within its own deadline
    httpTimeout: {{ .Values.scheduler.httpTimeout }}
    # No answer, no harm
    ignorable: true
{{- end }}

{{- /* A program's configuration: the chart's text, or with `config` of the values laid over it. */}}
{{- define "wattle.laidOver" -}}
{{- if .over }}{{ mustMergeOverwrite (fromYaml .text) .over | toYaml }}{{ else }}{{ .text }}{{ end }}
{{- end }}

{{- define "wattle.keysPod" -}}
serviceAccountName: wattle-keys
automountServiceAccountToken: false
enableServiceLinks: false
restartPolicy: OnFailure
{{- with include "wattle.pull" . }}
{{ trim . }}
{{- end }}
securityContext: {{- include "wattle.restrictedPod" . | nindent 2 }}
containers:
  - name: keys
    image: {{ include "wattle.image" (dict "root" . "image" "shim") }}
    imagePullPolicy: {{ .Values.images.pullPolicy }}
    command: [wattle, keys, bootstrap, --namespace, {{ .Values.namespaces.control }}, --agents-namespace, {{ .Values.namespaces.agents }}]
    securityContext: {{- include "wattle.locked" . | nindent 6 }}
    resources:
      requests: {cpu: 10m, memory: 32Mi, ephemeral-storage: 16Mi}
      limits: {memory: 64Mi}
    volumeMounts:
      - {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
volumes:
  - {{ include "wattle.apiToken" . | nindent 4 | trim }}
{{- end }}
