{{- /* Image reference: by the digest of the chart's release, or by tag if the values name one. */}}
{{- define "wattle.image" -}}
{{- $images := .root.Values.images -}}
{{- if and (not $images.registry) (ne $images.pullPolicy "Never") }}
{{- fail "images.registry: is empty, and Wattle's images are in no public registry: nodes would pull library/wattle-agent from docker.io (set it to your registry, for example registry.example/team, or set images.pullPolicy: Never if every node has the images)" }}
{{- end }}
{{- with $images.registry }}{{ . }}/{{ end }}{{ get $images .image | default (printf "wattle-%s" .image) }}:{{ $images.tag | default .root.Chart.AppVersion }}
{{- if not $images.tag }}{{ with get ($images.digests | default dict) .image }}@{{ . }}{{ end }}{{ end }}
{{- end }}

{{- define "wattle.pull" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | toYaml }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* Labels of an object, in one line. Takes (list $ NAME); NAME is empty unless the object belongs to one workload. */}}
{{- define "wattle.labels" -}}
{{- $root := index . 0 -}}
{{- $own := dict "app.kubernetes.io/part-of" "wattle" "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63) "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/managed-by" $root.Release.Service "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- with index . 1 }}{{ $_ := set $own "app.kubernetes.io/name" . }}{{ end -}}
{{- include "wattle.flow" (merge $own ($root.Values.commonLabels | default dict)) -}}
{{- end }}

{{- /* Labels of pods. Takes (list $ NAME PART). No label names a version, because selectors must never change. */}}
{{- define "wattle.podLabels" -}}
{{- $root := index . 0 -}}
{{- $own := dict "app.kubernetes.io/name" (index . 1) "app.kubernetes.io/part-of" "wattle" "app.kubernetes.io/instance" $root.Release.Name -}}
{{- include "wattle.flow" (merge $own ((index . 2).podLabels | default dict) ($root.Values.commonLabels | default dict)) -}}
{{- end }}

{{- define "wattle.flow" -}}
{ {{- $first := true }}{{ range $key, $value := . }}{{ if not $first }}, {{ end }}{{ $first = false }}{{ if contains "/" $key }}{{ $key }}{{ else }}{{ $key | quote }}{{ end }}: {{ $value | toYaml }}{{ end -}} }
{{- end }}

{{- /* Name of a part's ServiceAccount. Takes (list $ PART). */}}
{{- define "wattle.account" -}}
{{- $part := index . 1 -}}
{{- ((get (index . 0).Values $part).serviceAccount | default dict).name | default (printf "wattle-%s" $part) | toYaml -}}
{{- end }}

{{- /* ServiceAccount of a part, unless the values say that it exists. Takes (list $ PART NAMESPACE). */}}
{{- define "wattle.serviceAccount" -}}
{{- $account := (get (index . 0).Values (index . 1)).serviceAccount | default (dict "create" true) -}}
{{- if $account.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "wattle.account" . }}
  namespace: {{ index . 2 | toYaml }}
  labels: {{ include "wattle.labels" (list (index . 0) "") }}
  {{- with $account.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{- /* Fails if a chart key and the same key of `config` differ. Takes (list VALUE "chart.key" CONFIG "path.in.config"). */}}
{{- define "wattle.agree" -}}
{{- $value := index . 0 -}}
{{- $at := index . 2 -}}
{{- $path := splitList "." (index . 3) -}}
{{- $there := true -}}
{{- range $key := $path -}}
{{- if and $there (kindIs "map" $at) (hasKey $at $key) -}}{{ $at = get $at $key }}{{ else }}{{ $there = false }}{{ end -}}
{{- end -}}
{{- if and $there (ne (toJson $at) (toJson $value)) -}}
{{- fail (printf "%s is %s, and %s.config.%s is %s: set %s alone" (index . 1) (toJson $value) (index (splitList "." (index . 1)) 0) (index . 3) (toJson $at) (index . 1)) -}}
{{- end -}}
{{- end }}

{{- /* Scheme of HTTP probes: HTTPS if a certificate is set, because the page then accepts only TLS. */}}
{{- define "wattle.scheme" -}}
{{- if dig "http" "tls" "certificate" "" . }}, scheme: HTTPS{{ end }}
{{- end }}

{{- /* Scheduling of a pod: priority, selector, tolerations and affinity from one part of the values. */}}
{{- define "wattle.place" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . | toYaml }}
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

{{- /* Volumes of a program's Secret and of the token that metrics clients must send. */}}
{{- define "wattle.secrets" -}}
name: secret
projected:
  defaultMode: 0400
  sources:
    - secret: {name: {{ . }}}
    - secret: {name: wattle-metrics, items: [{key: token, path: metrics.token}]}
{{- end }}

{{- /* Image tag of the second scheduler: the cluster's version unless the values name one. Fails if it cannot fit. */}}
{{- define "wattle.schedulerTag" -}}
{{- $cluster := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version -}}
{{- $tag := .Values.scheduler.tag | default $cluster -}}
{{- $version := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" $tag -}}
{{- $minor := (semver $version).Minor | int -}}
{{- $its := (semver $cluster).Minor | int -}}
{{- if lt $minor 26 }}
{{- fail (printf "scheduler.tag: %s has no kubescheduler.config.k8s.io/v1 (use 1.26 or later, and the cluster's minor version)" $tag) }}
{{- end }}
{{- if or (gt $minor $its) (lt (add $minor 1) (int64 $its)) }}
{{- fail (printf "scheduler.tag: %s does not fit a cluster of %s: a scheduler may be one minor version older than the API server, but not newer (leave scheduler.tag empty to use the cluster's version; without a cluster set it with --kube-version)" $tag $cluster) }}
{{- end }}
{{- $tag }}
{{- end }}

{{- /* Not empty if the second scheduler has the plugin. Values of an earlier chart have no kind. */}}
{{- define "wattle.plugin" -}}
{{- if eq (.Values.scheduler.kind | default "extender") "plugin" }}yes{{ end }}
{{- end }}

{{- /* Image of the second scheduler: upstream's, or that with Wattle's plugin, with the minor version in its tag. */}}
{{- define "wattle.schedulerImage" -}}
{{- $tag := include "wattle.schedulerTag" . -}}
{{- if include "wattle.plugin" . -}}
{{- $images := .Values.images -}}
{{ with $images.registry }}{{ . }}/{{ end }}{{ $images.scheduler | default "wattle-kube-scheduler" }}:{{ regexFind "^v[0-9]+\\.[0-9]+" $tag }}-{{ regexReplaceAll "@.*" ($images.tag | default .Chart.AppVersion) "" }}
{{- else -}}
{{ .Values.scheduler.image }}:{{ $tag }}
{{- end }}
{{- end }}

{{- /* Converts a duration to milliseconds; 0 needs no unit. */}}
{{- define "wattle.milliseconds" -}}
{{- $text := toString . -}}
{{- $units := dict "us" 0.001 "ms" 1.0 "s" 1000.0 "m" 60000.0 "h" 3600000.0 "d" 86400000.0 -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $units (regexReplaceAll "^[0-9.]+" $text "") | default 0.0) }}
{{- end }}

{{- define "wattle.checkTimes" -}}
{{- if ge (include "wattle.milliseconds" .deadline | float64) (include "wattle.milliseconds" .httpTimeout | float64) }}
{{- fail (printf "shim.deadline: %s is not shorter than scheduler.httpTimeout, %s: the answer of the board would be too late (set a shorter deadline)" .deadline .httpTimeout) }}
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

{{- /* Volume for access to the API server: a token that the kubelet renews, and the cluster's CA. */}}
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
{{- $config := .Values.agent.config -}}
{{- include "wattle.agree" (list .Values.agent.tick "agent.tick" $config "tick") -}}
{{- include "wattle.agree" (list .Values.agent.bpf "agent.bpf" $config "bpf.enabled") -}}
{{- with .Values.agent.clusterNetworks }}{{ include "wattle.agree" (list . "agent.clusterNetworks" $config "cluster_networks") }}{{ end -}}
tick: {{ .Values.agent.tick | toYaml }}
state_dir: /var/lib/wattle
root: /host
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
{{- end }}

{{- define "wattle.controllerConfig" -}}
{{- $config := .Values.controller.config -}}
{{- include "wattle.agree" (list .Values.controller.mode "controller.mode" $config "mode") -}}
{{- $level := dig "provisioning" "level" "requests" $config -}}
{{- if and .Values.requests.namespaces (ne $level "requests") }}
{{- fail (printf "requests.namespaces: the controller suggests requests at level requests only, and controller.config.provisioning.level is %s (remove it)" $level) }}
{{- end }}
{{- $replicas := dig "provisioning" "replicas" "" $config -}}
{{- if and $replicas (ne (eq $replicas "suggest") .Values.replicas.suggest) }}
{{- fail (printf "replicas.suggest is %t, and controller.config.provisioning.replicas is %s: set replicas.suggest alone" .Values.replicas.suggest $replicas) }}
{{- end }}
{{- $sleep := dig "sleep" "mode" "" $config -}}
{{- if and $sleep (ne (toString $sleep) .Values.sleep.mode) }}
{{- fail (printf "sleep.mode is %s, and controller.config.sleep.mode is %s: set sleep.mode alone" .Values.sleep.mode $sleep) }}
{{- end }}
{{- if and (eq .Values.sleep.mode "auto") (not (dig "sleep" "drivers" "" $config)) }}
{{- fail "sleep.mode is auto: name the file of the power drivers in controller.config.sleep.drivers, and mount it by controller.extraVolumes and extraVolumeMounts" }}
{{- end -}}
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
  kubernetes: {accounts: [{{ printf "%s/%s" .Values.namespaces.agents ((.Values.agent.serviceAccount | default dict).name | default "wattle-agent") | toYaml }}], reader: {{ printf "%s/wattle-reader" .Values.namespaces.control | toYaml }}}
kubernetes: {watch: "on"{{ if .Values.scheduler.enabled }}, schedulers: [{{ .Values.scheduler.name | toYaml }}]{{ end }}}
reward: {preset: weighted}
{{- if ne .Values.sleep.mode "off" }}
sleep: {mode: {{ .Values.sleep.mode | quote }}}
{{- end }}
{{- if and .Values.replicas.suggest (not (dig "provisioning" "prometheus" "url" "" .Values.controller.config)) }}
{{- fail "replicas.suggest: the request rate is unknown (set controller.config.provisioning.prometheus)" }}
{{- end }}
{{- if and .Values.replicas.suggest (has (dig "provisioning" "level" "" .Values.controller.config | toString) (list "off" "false")) }}
{{- fail "replicas.suggest: controller.config.provisioning.level is off, so workloads are not observed (set it to suggest or requests)" }}
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
{{- end }}

{{- define "wattle.shimConfig" -}}
{{- include "wattle.agree" (list .Values.shim.deadline "shim.deadline" .Values.shim.config "deadline") -}}
{{- include "wattle.agree" (list .Values.shim.filter "shim.filter" .Values.shim.config "filter") -}}
# Serves the kube-scheduler in the same pod
{{- if include "wattle.plugin" . }}
listen: {address: 127.0.0.1, port: 8888, plugin_socket: /run/wattle-plugin/shim.sock}
{{- else }}
listen: {address: 127.0.0.1, port: 8888}
{{- end }}
# Serves probes and metrics
http: {address: "::", port: 9462, token_file: /run/wattle/metrics.token}
controller:
  ask: tcp://{{ include "wattle.controllerHost" . }}:7462
  feed: tcp://{{ include "wattle.controllerHost" . }}:7461
  key: /run/wattle/shim.key
  server_key: /etc/wattle-public/controller.pub
deadline: {{ .Values.shim.deadline | toYaml }}
filter: {{ .Values.shim.filter }}
# Off, because the scheduler's profile already gives soft preferences more weight than the scores
bound_scores: false
{{- end }}

{{- define "wattle.schedulerConfig" -}}
{{- $plugin := include "wattle.plugin" . -}}
# Second kube-scheduler: all default plugins stay enabled, and the shim adds to the scores.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
{{- if gt (int .Values.scheduler.replicas) 1 }}
  leaderElect: true
  resourceName: wattle-scheduler
  resourceNamespace: {{ .Values.namespaces.control | toYaml }}
{{- else }}
  leaderElect: false
{{- end }}
# The scheduler {{ if $plugin }}shows the plugin{{ else }}passes an extender{{ end }} only the nodes that it examined, so it must examine all
percentageOfNodesToScore: {{ .Values.scheduler.percentageOfNodesToScore }}
profiles:
  - schedulerName: {{ .Values.scheduler.name | toYaml }}
    plugins:
      {{- if $plugin }}
      # The best node's 100 times 6 outweighs fit, balance and image locality (docs/reference/kubernetes.md)
      multiPoint: {enabled: [{name: Wattle, weight: {{ .Values.scheduler.weight }}}]}
      # A name in both lists runs first: DefaultPreemption must not run while only some nodes were examined
      postFilter: {enabled: [{name: Wattle}]}
      {{- end }}
      score:
        # A hundred times the defaults: a pod's preferences outweigh the shim's scores (docs/concepts/placement.md)
        enabled:
          - {name: TaintToleration, weight: 300}
          - {name: NodeAffinity, weight: 200}
          - {name: PodTopologySpread, weight: 200}
          - {name: InterPodAffinity, weight: 200}
    {{- if $plugin }}
    pluginConfig:
      # Scheduling of all pods waits for an answer at most this long. The shim answers within its own, shorter deadline
      - {name: Wattle, args: {socket: /run/wattle-plugin/shim.sock, timeout: {{ .Values.scheduler.httpTimeout }}}}
    {{- end }}
{{- if or (not $plugin) .Values.shim.filter }}
extenders:
  - urlPrefix: http://127.0.0.1:8888
    {{- if not $plugin }}
    prioritizeVerb: prioritize
    {{- end }}
    {{- if .Values.shim.filter }}
    filterVerb: filter
    # Prevents evictions in favour of a pod that the filter would refuse
    preemptVerb: preempt
    {{- end }}
    {{- if not $plugin }}
    # The best node's 10 times 6 times 10 outweighs fit, balance and image locality (docs/reference/kubernetes.md)
    weight: {{ .Values.scheduler.weight }}
    {{- end }}
    # Sends only names; whole nodes would be megabytes per pod
    nodeCacheCapable: true
    enableHTTPS: false
    # Scheduling of all pods waits for the extender. The shim answers within its own, shorter deadline
    httpTimeout: {{ .Values.scheduler.httpTimeout }}
    # Scheduling continues without an answer
    ignorable: true
{{- end }}
{{- end }}

{{- /* Configuration of a program: the chart's text, with `config` of the values merged over it. */}}
{{- define "wattle.laidOver" -}}
{{- if .over }}{{ mustMergeOverwrite (fromYaml .text) (deepCopy .over) | toYaml }}{{ else }}{{ .text }}{{ end }}
{{- end }}

{{- define "wattle.keysPod" -}}
serviceAccountName: {{ include "wattle.account" (list $ "keys") }}
automountServiceAccountToken: false
enableServiceLinks: false
restartPolicy: OnFailure
{{- with include "wattle.pull" . }}
{{ trim . }}
{{- end }}
securityContext: {{- include "wattle.restrictedPod" . | nindent 2 }}
containers:
  - name: keys
    image: {{ include "wattle.image" (dict "root" . "image" "shim") | toYaml }}
    imagePullPolicy: {{ .Values.images.pullPolicy }}
    command: [wattle, keys, bootstrap, --namespace, {{ .Values.namespaces.control | toYaml }}, --agents-namespace, {{ .Values.namespaces.agents | toYaml }}]
    securityContext: {{- include "wattle.locked" . | nindent 6 }}
    resources:
      requests: {cpu: 10m, memory: 32Mi, ephemeral-storage: 16Mi}
      limits: {memory: 64Mi}
    volumeMounts:
      - {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
volumes:
  - {{ include "wattle.apiToken" . | nindent 4 | trim }}
{{- end }}

{{- /* Fails on contradictions in the agent's configuration that the schema cannot express. */}}
{{- define "wattle.checkAgent" -}}
{{- $names := list -}}
{{- range .probes -}}
{{- if has .name $names }}{{ fail (printf "agent.config.probes: the name %s is used twice (give each probe its own name)" .name) }}{{ end }}
{{- $names = append $names .name -}}
{{- end -}}
{{- $estimate := .estimate | default dict -}}
{{- if and (hasKey $estimate "max_w") (lt (get $estimate "max_w" | float64) (get $estimate "idle_w" | float64)) }}
{{- fail "agent.config.estimate.max_w: is less than idle_w: a full machine draws more" }}
{{- end }}
{{- $provisioning := .provisioning | default dict -}}
{{- if and $provisioning.connections (not .bpf.enabled) }}
{{- fail "agent.config.provisioning.connections: needs agent.bpf: true, since BPF programs follow the connections" }}
{{- end }}
{{- if and $provisioning.socket (gt (include "wattle.milliseconds" .tick | float64) 5000.0) }}
{{- fail (printf "agent.tick: %s is above 5s, and agent.config.provisioning.socket is set: an actuator waits 10 s for its orders" .tick) }}
{{- end }}
{{- $workloads := list -}}
{{- range concat ($provisioning.latency | default list) ($provisioning.connections | default list) -}}
{{- if has .workload $workloads }}{{ fail (printf "agent.config.provisioning: the workload %s is used twice (name one source of its latency)" .workload) }}{{ end }}
{{- $workloads = append $workloads .workload -}}
{{- end -}}
{{- end }}

{{- /* The same for the controller. Defaults are those of the program (docs/reference/configuration.md). */}}
{{- define "wattle.checkController" -}}
{{- if and (eq (dig "preset" "" (.reward | default dict)) "expression") (not (dig "expression" "" (.reward | default dict))) }}
{{- fail "controller.config.reward.expression: is missing, and reward.preset is expression" }}
{{- end }}
{{- $open := 0 -}}
{{- range $sign := splitList "" (dig "expression" "" (.reward | default dict)) -}}
{{- if eq $sign "(" }}{{ $open = add1 $open }}{{ else if eq $sign ")" }}{{ $open = sub $open 1 }}{{ end -}}
{{- if or (lt (int $open) 0) (and (eq $sign ",") (eq (int $open) 0)) }}
{{- fail "controller.config.reward.expression: a bracket closes that was not opened, or a comma stands between two formulas" }}
{{- end -}}
{{- end -}}
{{- if ne (int $open) 0 }}{{ fail "controller.config.reward.expression: a bracket is not closed" }}{{ end }}
{{- $prometheus := dig "prometheus" dict (.provisioning | default dict) -}}
{{- if and $prometheus.latency_query (eq (include "wattle.milliseconds" ($prometheus.target | default "0") | float64) 0.0) }}
{{- fail "controller.config.provisioning.prometheus.target: is missing (set it to what 99 of 100 requests should take at most, as in 100ms)" }}
{{- end }}
{{- if and $prometheus.token (hasPrefix "http://" $prometheus.url) (not (regexMatch "^http://(127\\.|\\[::1\\])" $prometheus.url)) }}
{{- fail "controller.config.provisioning.prometheus.token: would cross the network unencrypted (name an https:// URL)" }}
{{- end }}
{{- if and .http.operator_token_file (not (dig "tls" "certificate" "" .http)) (not .http.insecure) }}
{{- fail "controller.config.http.operator_token_file: its token would cross the network unencrypted (set controller.config.http.tls)" }}
{{- end }}
{{- if and .http.operator_token_file (eq .http.operator_token_file .http.token_file) }}
{{- fail "controller.config.http.operator_token_file: is the file of token_file (name a file with another token)" }}
{{- end }}
{{- end }}
