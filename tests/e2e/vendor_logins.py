"""vendor_logins: exec plugins of kubeconfigs as vendors write them: the user's entry, and the plugin's output.

Source   the entries: `aws eks update-kubeconfig`, `gcloud container clusters get-credentials`, `az aks get-credentials`
         with `kubelogin convert-kubeconfig`, `kubectl oidc-login setup`, `tsh kube login`, `doctl kubernetes cluster
         kubeconfig save`, `oci ce cluster create-kubeconfig`, Rancher's page of a cluster.
         The output: documentation and source of awscli (eks/get_token.py), cloud-provider-gcp
         (cmd/gke-gcloud-auth-plugin), Azure/kubelogin and int128/kubelogin (credential writer), teleport (tool/tsh kube
         credentials), doctl, oci-cli, rancher/cli (token). Times are in the future, like the vendors'
Form     NAME: (YAML of `exec`, its program, its arguments, its output; the caller fills {token}, {certificate}, {key})
"""

FUTURE = "2099-01-02T03:04:05Z"

VENDORS = {
    "EKS": ("""
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - --region
      - us-west-2
      - eks
      - get-token
      - --cluster-name
      - shop
      - --output
      - json
      command: aws
      env:
      - name: AWS_PROFILE
        value: prod
""", "aws", ["--region", "us-west-2", "eks", "get-token", "--cluster-name", "shop", "--output", "json"],
            f'{{\n    "kind": "ExecCredential",\n    "apiVersion": "client.authentication.k8s.io/v1beta1",\n    "spec": {{}},\n    "status": {{\n'
            f'        "expirationTimestamp": "{FUTURE}",\n        "token": "{{token}}"\n    }}\n}}\n'),
    "GKE": ("""
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      installHint: Install gke-gcloud-auth-plugin for use with kubectl by following
        https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl#install_plugin
      provideClusterInfo: true
""", "gke-gcloud-auth-plugin", [],
            f'{{\n    "kind": "ExecCredential",\n    "apiVersion": "client.authentication.k8s.io/v1beta1",\n    "spec": {{\n        "interactive": false\n    }},\n'
            f'    "status": {{\n        "expirationTimestamp": "{FUTURE}",\n        "token": "{{token}}"\n    }}\n}}\n'),
    "AKS": ("""
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - get-token
      - --environment
      - AzurePublicCloud
      - --server-id
      - 6dae42f8-4368-4678-94ff-3960e28e3630
      - --client-id
      - 80faf920-1908-4b52-b5ef-a8e7bedfc67a
      - --tenant-id
      - 00000000-0000-0000-0000-000000000000
      - --login
      - azurecli
      command: kubelogin
      env: null
      installHint: |2

        kubelogin is not installed which is required to connect to AAD enabled cluster.

        To learn more, please go to https://aka.ms/aks/kubelogin
      interactiveMode: IfAvailable
      provideClusterInfo: false
""", "kubelogin", ["get-token", "--environment", "AzurePublicCloud", "--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630", "--client-id",
                   "80faf920-1908-4b52-b5ef-a8e7bedfc67a", "--tenant-id", "00000000-0000-0000-0000-000000000000", "--login", "azurecli"],
            f'{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{{"interactive":false}},"status":{{'
            f'"expirationTimestamp":"{FUTURE}","token":"{{token}}"}}}}'),
    "OpenID Connect": ("""
      apiVersion: client.authentication.k8s.io/v1
      args:
      - oidc-login
      - get-token
      - --oidc-issuer-url=https://login.example
      - --oidc-client-id=wattle
      command: kubectl
      env: null
      interactiveMode: IfAvailable
      provideClusterInfo: false
""", "kubectl", ["oidc-login", "get-token", "--oidc-issuer-url=https://login.example", "--oidc-client-id=wattle"],
                       f'{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{{"interactive":false}},"status":{{'
                       f'"expirationTimestamp":"{FUTURE}","token":"{{token}}"}}}}\n'),
    "Teleport": ("""
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - kube
      - credentials
      - --kube-cluster=shop
      - --teleport-cluster=teleport.example
      - --proxy=teleport.example:443
      command: tsh
      env: null
      interactiveMode: IfAvailable
      provideClusterInfo: false
""", "tsh", ["kube", "credentials", "--kube-cluster=shop", "--teleport-cluster=teleport.example", "--proxy=teleport.example:443"],
                 f'{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{{"interactive":false}},"status":{{'
                 f'"expirationTimestamp":"{FUTURE}","clientCertificateData":"{{certificate}}","clientKeyData":"{{key}}"}}}}'),
    "DigitalOcean": ("""
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - kubernetes
      - cluster
      - kubeconfig
      - exec-credential
      - --version=v1beta1
      - --context=default
      - f81d4fae-7dec-11d0-a765-00a0c91e6bf6
      command: doctl
      env: null
      interactiveMode: IfAvailable
      provideClusterInfo: false
""", "doctl", ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1", "--context=default", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"],
                     f'{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{{}},"status":{{"expirationTimestamp":"{FUTURE}",'
                     '"token":"{token}"}}\n'),
    "Oracle": ("""
      apiVersion: client.authentication.k8s.io/v1beta1
      command: oci
      args:
      - ce
      - cluster
      - generate-token
      - --cluster-id
      - ocid1.cluster.oc1.phx.aaaaaaaa
      - --region
      - us-phoenix-1
      env: []
""", "oci", ["ce", "cluster", "generate-token", "--cluster-id", "ocid1.cluster.oc1.phx.aaaaaaaa", "--region", "us-phoenix-1"],
               f'{{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {{"expirationTimestamp": "{FUTURE}", "token": "{{token}}"}}}}'),
    "Rancher": ("""
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - token
      - --server=rancher.example
      - --user=u-abcde
      command: rancher
""", "rancher", ["token", "--server=rancher.example", "--user=u-abcde"],
                '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{},"status":{"expirationTimestamp":"2099-01-02T05:04:05.123456789+02:00",'
                '"token":"{token}"}}\n'),
}
NOT_INSTALLED = {"GKE": "install_plugin", "AKS": "https://aka.ms/aks/kubelogin"}  # words of the vendor's installHint
