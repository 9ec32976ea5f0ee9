"""cli_states: the expected output of each `wattle` command in each state, for cli_states_test.py.

A command  asks: the role whose key it needs to ask the controller, or None; tty: whether it also runs in a terminal
States     (name, world, words, exit code, pattern); `world` is where it runs: "empty", a controller alone, or "fleet".
           With exit code 0 the pattern is on standard output, otherwise on standard error and not on the other stream
Words      {dir} the house's folder, {root} the sources, {node} a node, {pod} a pod with a decision, {captured} a pod of
           the captured node
"""
from typing import NamedTuple

ALL = ("wide", "json", "yaml")


class Command(NamedTuple):
    states: list
    asks: str = ""          # "reader" or "operator"
    formats: tuple = ()     # forms of -o, run with its first state in the fleet
    once: bool = False      # the command has an effect, or stays on a terminal: it runs once, and not again in a terminal
    elsewhere: str = ""     # the test for states that this one cannot create


NO_STORE = "no store is configured"  # never printed here: both worlds have a store
NO_NODES = "no nodes yet: no agent has registered"
NOBODY = r'^wattle: \w+: (node )?"nobody" not found: no agent has registered under that name \(list nodes with `wattle nodes`\)'
NO_POD = r'^wattle: explain: pod "nobody" not found: no recent decision is about it \(list recorded decisions with `wattle decisions`\)'
NO_FILE = r"/none: No such file or directory"
TOKENS = ("--tokens", "{dir}/tokens")
LIST = ("--allow-list", "{dir}/own-list")
CONFIG = ("--config", "{dir}/controller.yaml")

COMMANDS = {
    "nodes": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, NO_NODES),
        ("one", "fleet", (), 0, r"NODE +STATE +POWER .*\n{node} +up +\S+ W est "),
        ("without titles", "fleet", ("--no-headers", "--sort-by", "name"), 0, r"^(captured|{node}) +up"),
        ("names", "fleet", ("-o", "name", "--sort-by", "{.name}"), 0, r"^\S+\n\S+\n$"),
        ("a path", "fleet", ("-o", "jsonpath={range .nodes[?(@.connected==true)]}{.name} {.connected};{end}", "--sort-by", "name"), 0, r"^\S+ true;\S+ true;$"),
        ("by label", "fleet", ("-l", "no-such-label"), 0, r"^no nodes with these labels\n$"),
        ("no selector", "fleet", ("-l", "a=b,"), 2, r"^wattle: [a-z ]+: argument selector: '' has no valid key \(for example zone=a, ")]),
    "node": Command(asks="reader", formats=ALL, states=[
        ("one", "fleet", ("{node}",), 0, r"node +{node}\n.*power curve .*\n\nfindings"),
        ("unknown", "fleet", ("nobody",), 1, NOBODY)]),
    "pods": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, r"^no pods\n$"),
        ("some", "fleet", (), 0, r"POD +NODE +POWER .*"),
        ("of a node", "fleet", ("--node", "captured"), 0, r"POD +NODE.*captured"),
        ("unknown namespace", "fleet", ("-n", "nowhere"), 0, r"^no pods in namespace nowhere\n$"),
        ("one and all namespaces", "fleet", ("-n", "nowhere", "-A"), 2, r"cannot be combined with"),
        ("names", "fleet", ("-A", "-o", "name"), 0, r"^\S+\n"),
        ("on this machine, which may run other pods", "fleet", ("--node", "{node}"), 0, r"^no pods\n$|^POD +NODE.*{node}"),
        ("an unknown node", "fleet", ("--node", "nobody"), 1, NOBODY)]),
    "pod": Command(asks="reader", formats=ALL, states=[
        ("one", "fleet", ("{captured}",), 0, r"pod +\S+\nuid +{captured}\nnode +captured\n.*energy +\S+ .*\n\n(no containers known yet|CONTAINER +CPU .*\(rest\))"),
        ("unknown", "fleet", ("nobody",), 1, r'^wattle: [a-z ]+: (pod )?"nobody" not found: no agent reports it now \(list pods with `wattle pods`\)'),
        ("not named", "fleet", (), 2, r"POD is required|pod is required")]),
    "top": Command(once=True, asks="reader", formats=ALL, elsewhere="tests/e2e/top_test.py", states=[
        ("nothing", "empty", (), 0, "nodes 0/0 .*\n\n" + NO_NODES),
        ("all", "fleet", (), 0, r"live dqn \| nodes 2/2 .*NODE +STATE")]),
    "decisions": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, "no decisions yet: the controller has received no request"),
        ("no decision in that time", "empty", ("--since", "1h"), 0, "the store has no decision of that time"),
        ("some", "fleet", (), 0, r"ID +TIME +POD +BY +ADVICE .*default/pod-{pod} +\S+ +{node} "),
        ("of a namespace", "fleet", ("-n", "default", "--limit", "1"), 0, r"^ *ID .*\n[^\n]*default/pod-{pod} [^\n]*\n$"),
        ("ids", "fleet", ("-o", "name"), 0, r"^\d+\n"),
        ("no feed", "fleet", ("-w", "--timeout", "10m", "--feed", "{nowhere}"), 1,
         r"feed: no answer from {nowhere} \(check that the controller runs and that --feed is its feed\)"),
        ("both -w and a sort key", "fleet", ("-w", "--sort-by", "id"), 2, r"cannot be combined with"),
        ("no time", "fleet", ("--since", "soon"), 2, r"^wattle: [a-z ]+: argument since: invalid value 'soon' \(use a duration, for example 90m, 24h or 7d\)"),
        ("no number", "fleet", ("--limit", "0"), 2, r"--limit: 0 is out of range \(use ")]),
    "report": Command(asks="reader", formats=("json", "yaml"), states=[
        ("nothing recorded", "empty", (), 0, r"no usage recorded yet: the store has received no samples"),
        ("usage", "fleet", (), 0, r"NAMESPACE +MEASURED +ESTIMATED .*\(all nodes\)"),
        ("by node", "fleet", ("--by", "node"), 0, r"NODE +MEASURED .*DRAWN.*\n{node} "),
        ("by a label without a key", "fleet", ("--by", "label"), 2, r"^wattle: [a-z ]+: argument label: is missing \(pass the key of the label, for example label=team\)"),
        ("an unknown pod", "fleet", ("--pod", "nobody"), 1, r'^wattle: [a-z ]+: (pod )?"nobody" not found: '),
        ("by an unknown key", "fleet", ("--by", "colour"), 2, r'--by: unknown value \"colour\" \(use one of namespace, owner, node, label, container\)')]),
    "savings": Command(asks="reader", formats=("json", "yaml"), states=[
        ("of a fleet", "fleet", (), 0, r"LEVER +SAVES +95% INTERVAL +PER DAY +NODES +STATE\n.*\navailable in all: .* per day, modelled"),
        ("a patch without an API server", "fleet", ("--patch", "shop/Deployment/web"), 1, r"^wattle: [a-z ]+: ")]),
    "provision list": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/e2e/provision_test.py", states=[
        ("no API server", "fleet", (), 0, r"requests of pods are unknown because the controller follows no API server \(kubernetes\.watch\)")]),
    "provision suggest": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/e2e/provision_test.py", states=[
        ("no API server", "fleet", (), 0, r"the controller follows no API server")]),
    "provision why": Command(asks="reader", elsewhere="tests/e2e/provision_test.py", states=[
        ("unknown", "fleet", ("nobody",), 1, r'^wattle: [a-z ]+: (workload )?"nobody" not found: unknown, or no data yet \(use NAMESPACE/KIND/NAME; list workloads with `wattle provision list`\)')]),
    "provision replicas": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/e2e/provision_test.py", states=[
        ("not suggested", "fleet", (), 0, r"^suggestions for replicas are disabled \(enable them with provisioning\.replicas: suggest\)")]),
    "provision margins": Command(asks="reader", formats=("json", "yaml"), states=[
        ("no service", "fleet", (), 0, r"^Mode shadow: .*\n0 gradient steps on 0 recorded minutes\.\nStudent candidate: no student is trained yet\.\nno agent reports a service at level limits \(provisioning\.limits in the agent's configuration\)")]),
    "sleep plan": Command(asks="reader", formats=("json", "yaml"), states=[
        ("off", "fleet", (), 0, r"^sleep is off \(set sleep\.mode in the controller's configuration\)")]),
    "sleep status": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/unit/cli/render_test.cpp", states=[
        ("off", "fleet", (), 0, r"^sleep is off \(set sleep\.mode in the controller's configuration\)")]),
    "sleep history": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/unit/cli/render_test.cpp", states=[
        ("off", "fleet", ("{node}",), 0, r"^sleep is off \(set sleep\.mode in the controller's configuration\)"),
        ("an unknown node", "fleet", ("nobody",), 1, r'^wattle: [a-z ]+: (node )?"nobody" not found: ')]),
    "sleep wake": Command(asks="operator", elsewhere="tests/unit/controller/sleep_states_test.cpp", states=[
        ("no node sleeps", "fleet", ("--all",), 0, r"^no node sleeps"),
        ("an unknown node", "fleet", ("nobody",), 1, r"^wattle: [a-z ]+: .*nobody"),
        ("no node given", "fleet", (), 2, r"needs a node, or all \(wattle sleep wake NODE, or --all\)")]),
    "sleep test": Command(asks="operator", elsewhere="tests/unit/controller/sleep_states_test.cpp", states=[
        ("off", "fleet", ("nobody",), 1, r"^wattle: [a-z ]+: sleep-now: sleep is off \(set sleep\.mode in the controller's configuration\)")]),
    "sleep exclude": Command(asks="operator", states=[
        ("off", "fleet", ("nobody",), 1, r"^wattle: [a-z ]+: sleep-exclude: sleep is off \(set sleep\.mode in the controller's configuration\)")]),
    "sleep allow": Command(asks="operator", states=[
        ("off", "fleet", ("nobody",), 1, r"^wattle: [a-z ]+: sleep-exclude: sleep is off \(set sleep\.mode in the controller's configuration\)")]),
    "provision mode": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/unit/controller/right_size_test.cpp", states=[
        ("off", "fleet", (), 0, r"^mode +off\n.*no owner permits lower requests \(annotation wattle\.dev/shrink: allowed\)"),
        ("not allowed to set", "fleet", ("live",), 1, r"^wattle: [a-z ]+: reader/cli: permission denied: query provision-mode \(needs role operator\)"),
        ("a reason without a mode", "fleet", ("--why", "x"), 2, r"no mode given: ")]),
    "provision set": Command(elsewhere="tests/e2e/kube/resize_test.py", states=[
        ("no namespace", "fleet", (), 2, r"--namespace: no namespace given \(pass --namespace NAME or the workload as NAMESPACE/KIND/NAME\)"),
        ("no cluster", "fleet", ("--namespace", "shop", "--kubeconfig", "{dir}/none"), 1, NO_FILE),
        ("no time", "fleet", ("--every", "0"), 2, r"--every: 0 is out of range \(use ")]),
    "provision restore": Command(elsewhere="tests/e2e/kube/resize_test.py", states=[
        ("no namespace", "fleet", (), 2, r"--namespace: no namespace given"),
        ("no cluster", "fleet", ("--namespace", "shop", "--kubeconfig", "{dir}/none"), 1, NO_FILE)]),
    "explain": Command(asks="reader", formats=ALL, states=[
        ("a pod", "fleet", ("{pod}",), 0, r"^default/pod-{pod}: {node} was advised\. By the model, the pod adds [\d.]+ W there.*\nDecision \d+ by "),
        ("what if", "fleet", ("{pod}", "--cpu", "1"), 0, r"What if default/pod-{pod} \(decision \d+\) were placed now, .*\nNow: .*\nThen: "),
        ("what if, no amount", "fleet", ("{pod}", "--cpu", "much"), 2, r"^wattle: [a-z ]+: argument cpu: 'much' is not a quantity"),
        ("what if, no weight", "fleet", ("{pod}", "--weight", "energy"), 2, r"--weight energy: is not NAME=NUMBER \(for example --weight energy=2\)"),
        ("what if, unknown node", "fleet", ("{pod}", "--without", "nobody"), 1, r'^wattle: [a-z ]+: (node )?"nobody" not found: it is not a candidate of decision \d+'),
        ("the advised node is marked, and the column that rows are sorted by is shown", "fleet", ("{pod}",), 0, r"\nADVISED +NODE +Q +SCORE .*\n\* +{node} .*\nSorted by Q\."),
        ("unknown", "fleet", ("nobody",), 1, NO_POD)]),
    "place": Command(asks="operator", formats=("json", "yaml"), states=[
        ("no node", "empty", ("batch", "--cpu", "1"), 1, r"no node: no agent is connected \(see `wattle nodes` and `wattle doctor`\)"),
        ("a node", "fleet", ("batch", "--cpu", "100m", "--nodes", "{node}"), 0, r"^{node}\nwhy: +wattle explain \S+\nwhen started: +wattle confirm \S+ {node}\n$"),
        ("unknown nodes", "fleet", ("batch", "--cpu", "100m", "--nodes", "nobody,noone"), 1, r'^wattle: [a-z ]+: (node )?"nobody" not found: no agent has registered under that name \(list nodes with `wattle nodes`\)'),
        ("too big", "fleet", ("batch", "--cpu", "4000"), 1, r"^no node for batch: no candidate is feasible: cpu does not fit"),
        ("no amount", "fleet", ("batch", "--cpu", "much"), 2, r"--cpu: 'much' is not a quantity \(for example 250m, 1\.5, 64Mi or 2Gi\)"),
        ("no time", "fleet", ("batch", "--cpu", "1", "--latency-soft", "quick"), 2, r"--latency-soft: 'quick' is not a duration \(for example 20ms or 1s\)"),
        ("contradictory limits", "fleet", ("batch", "--cpu", "1", "--latency-soft", "30ms", "--latency-hard", "10ms"), 2, r"--latency-soft: is more than --latency-hard \(use a soft limit below the hard one\)"),
        ("no name", "fleet", ("", "--cpu", "1"), 2, r"NAME: is empty \(name the workload\)"),
        ("with the next pods", "fleet", ("batch", "--cpu", "100m", "--nodes", "{node}", "--next", "1,1Gi", "--next", "2,1Gi,big"), 0, r"^{node}\n"),
        ("no next", "fleet", ("batch", "--cpu", "1", "--next", "4"), 2, r"--next: '4' is not CPU,MEMORY \(for example 4,8Gi or 4,8Gi,APP\)"),
        ("no time to wait", "fleet", ("batch", "--cpu", "1", "--defer", "later"), 2, r"--defer: 'later' is not a duration"),
        ("too big for any node", "fleet", ("batch", "--cpu", "4000", "--defer", "30s"), 1, r"^no node for batch: no candidate is feasible: cpu does not fit")]),
    "confirm": Command(once=True, asks="operator", states=[
        ("unknown node", "fleet", ("{pod}", "nobody"), 1, r'^wattle: [a-z ]+: (node )?"nobody" not found: no agent has registered under that name \(list nodes with `wattle nodes`\)'),
        ("it runs", "fleet", ("{pod}", "{node}"), 0, r"^{pod} runs on {node}\nends: +when you run `wattle done {pod}`, at .*Z at the latest\nunit: +no unit of its name found on {node} yet; set it with --unit\n$")]),
    "done": Command(once=True, asks="operator", elsewhere="tests/e2e/nights_test.py", states=[
        ("unknown workload", "fleet", ("nobody",), 1, r"^wattle: [a-z ]+: .*nobody")]),
    "doctor": Command(asks="reader", formats=ALL, states=[
        ("nothing to fix", "empty", (), 0, r"controller ok, 0 of 0 nodes connected: no problems"),
        ("a fleet", "fleet", (), None, r"controller ok, 2 of 2 nodes connected: (no problems|problems found)"),
        ("before installation, no file", "fleet", ("--pre", "--scheduler", "{dir}/none"), 2, r"/none: No such file or directory")]),
    "gaps": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, r"^no gaps: the store has every sample that agents reported\n$"),
        ("of a node", "fleet", ("--node", "{node}"), 0, r"^no gaps: the store has every sample that agents reported\n$"),
        ("an unknown node", "fleet", ("--node", "nobody"), 1, NOBODY)]),
    "status": Command(asks="reader", formats=ALL, states=[
        ("first seconds", "empty", (), 0, r"nodes +0 of 0 connected\n.*power +-\n.*decisions +0 since \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ, 0\.0/s"),
        ("a fleet", "fleet", (), 0, r"mode +live\n.*nodes +2 of 2 connected\n.*in use +")]),
    "policy get": Command(asks="reader", formats=ALL, states=[
        ("as configured", "fleet", (), 0, r"mode +live, .*\nsaving +(saves|not known yet).*\n.*CHANGE +TIME +WHO +WHAT\n")]),
    "policy set": Command(once=True, asks="operator", formats=ALL, states=[
        ("nothing", "fleet", (), 2, r"policy set: no setting given: at least one setting must change \(pass --mode, --policy, --reward or another option; see wattle policy set --help\)"),
        ("only a reason", "fleet", ("--why", "so"), 2, r"no setting given: at least one setting must change"),
        ("no mode", "fleet", ("--mode", "alive"), 2, r"^wattle: [a-z ]+: mode alive: unknown \((did you mean .live.\? )?use one of off, shadow, canary:P% .*, live\)"),
        ("no policy", "fleet", ("--policy", "oracle-of-delphi"), 2, r"^wattle: [a-z ]+: policy oracle-of-delphi: unknown \(use one of dqn, "),
        ("no weight", "fleet", ("--weight", "energy"), 2, r"--weight energy: is not NAME=NUMBER"),
        ("force without a reason", "empty", ("--mode", "live", "--force"), 2, r"why"),
        ("a weight out of range", "fleet", ("--weight", "energy=1000"), 2, r"^wattle: [a-z ]+: weight\.energy: is 1000"),
        ("a closed gate", "empty", ("--mode", "live"), 1, r"^wattle: [a-z ]+: mode live: its gate is closed: .* \(wait \(`wattle policy get` shows the gate\), or skip the gate with --force --why TEXT\)"),
        ("a share of waiting", "fleet", ("--cpu-wait", "2%", "--why", "a test"), 0, r"waiting +at most 2\.0% of pods' time\n.*a test"),
        ("a share of lateness", "fleet", ("--late", "3%", "--why", "a test"), 0, r"late +at most 3\.0% of pods' time\n.* times\n.*a test"),
        ("no share", "fleet", ("--late", "much"), 2, r"^wattle: [a-z ]+: late: 'much' is not a number")]),
    "policy promote": Command(once=True, asks="operator", states=[
        ("one further", "empty", ("--why", "a test"), 0, r"^mode +shadow, .*promotion +to canary:10% is closed: 0 of 100 decisions.*mode off -> shadow\n +a test"),
        ("nothing beyond", "fleet", (), 1, r"live")]),
    "policy rollback": Command(once=True, asks="operator", states=[
        ("no such change", "fleet", ("--to", "99"), 1, r'^wattle: [a-z ]+: (change )?"99" not found: it has no settings to return to \(list changes with `wattle policy get`\)'),
        ("no number", "fleet", ("--to", "then"), 2, r"^wattle: [a-z ]+: argument to: 'then' is not the number of a change"),
        ("back", "empty", (), 0, r"^mode +off, .*rolled back to change \d+: mode shadow -> off")]),
    "model list": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, r"^no stored networks yet \(store one with `wattle model save NAME`\)\n\nIn use: "),
        ("some", "fleet", (), 0, r"NAME +STEP +SAVED .*\nkept .*In use: ")]),
    "model save": Command(asks="operator", formats=("json", "yaml"), states=[
        ("no name", "fleet", ("a b",), 2, r"^wattle: [a-z ]+: checkpoint 'a b': is not a valid name \(use a letter, then letters, digits, - and _, at most 64\)"),
        ("kept", "fleet", ("kept",), 0, r"\nkept .* yes ")]),
    "model load": Command(once=True, asks="operator", states=[
        ("unknown", "fleet", ("nobody",), 1, r'^wattle: [a-z ]+: (model )?"nobody" not found: no stored network has that name \(list networks with `wattle model list`\)'),
        ("loaded", "fleet", ("kept", "--why", "a test"), 0, r"In use: \w+, loaded from kept")]),
    "model record": Command(once=True, asks="reader", states=[
        ("no folder", "fleet", ("{dir}/none/record",), 1, r"/none/record: No such file or directory"),
        ("there already", "fleet", ("{dir}/controller.yaml",), 1, r"controller\.yaml: already exists"),
        ("written", "fleet", ("{dir}/record",), 0, r"/record: 2 nodes, ")]),
    "model add": Command(asks="operator", once=True, states=[
        ("no file", "fleet", ("mine", "{dir}/none"), 1, NO_FILE),
        ("no network", "fleet", ("mine", "{dir}/controller.yaml"), 1, r"controller\.yaml: is not a network \(use a safetensors file as written by wattle-sim improve\)"),
        ("added", "fleet", ("mine", "{root}/models/pretrained/weighted.safetensors"), 0, r"\nmine ")]),
    "keys new": Command(once=True, states=[
        ("made", "empty", ("{dir}/mine.key",), 0, r"mine\.key: key pair \(secret\), mode 0400\n.*mine\.key\.pub: public key "),
        ("there already", "empty", ("{dir}/reader.key",), 1, r"reader\.key: already exists and is not overwritten \(choose another file name or move the file away\)"),
        ("no folder", "empty", ("{dir}/none/x.key",), 1, r"/none/x\.key: No such file or directory")]),
    "keys list": Command(formats=("json", "yaml"), states=[
        ("some", "fleet", LIST, 0, r"KEY +ROLE +NAME +NOTE\n.* reader +cli"),
        ("which", "empty", (), 2, r"--allow-list: no allow list is configured \(pass --allow-list FILE, or set allow_list in the configuration\)"),
        ("no file", "empty", ("--allow-list", "{dir}/none"), 2, NO_FILE)]),
    "keys allow": Command(once=True, states=[
        ("allowed", "empty", (*LIST, "{dir}/stranger.key.pub", "reader", "somebody"), 0, r"own-list: allows \S+ reader somebody"),
        ("no key", "empty", (*LIST, "much", "reader", "x"), 2, r"much: No such file or directory \(pass a public key of 40 characters or a file that contains one\)"),
        ("a secret", "empty", (*LIST, "{dir}/stranger.key", "reader", "x"), 2, r"stranger\.key: contains a secret key \(use \S+stranger\.key\.pub\)"),
        ("no role", "empty", (*LIST, "{dir}/stranger.key.pub", "king", "x"), 2, r"role: 'king' is unknown \(use agent, shim, reader or operator\)"),
        ("no name", "empty", (*LIST, "{dir}/stranger.key.pub", "reader", "a b"), 2, r"a b: is not a valid name \(use letters, digits"),
        ("another's", "empty", (*LIST, "{dir}/reader.key.pub", "shim", "x"), 1, r"is reader cli there \(revoke it first: wattle keys revoke cli\)")]),
    "keys revoke": Command(once=True, states=[
        ("nobody", "empty", (*LIST, "nobody"), 1, r"'nobody' not found: the list has no such key or name, and no file of that name contains a key of the list \(list keys with `wattle keys list`\)"),
        ("gone", "empty", (*LIST, "somebody"), 0, r"own-list: no longer allows \S+ reader somebody")]),
    "keys rotate": Command(once=True, states=[
        ("no pair", "empty", ("{dir}/none",), 1, r"/none: No such file or directory \(create a key pair with `wattle keys new`\)"),
        ("no next pair", "empty", ("--switch", "{dir}/stranger.key"), 1, r"stranger\.key\.next: there is no next key pair \(create it with: wattle keys rotate \S+\)"),
        ("made", "empty", ("{dir}/stranger.key",), 0, r"stranger\.key\.next: next key pair \(secret\), mode 0400\n.*wattle keys rotate --switch ")]),
    "keys token new": Command(once=True, states=[
        ("made", "fleet", (*TOKENS, "worker-1", "{dir}/worker-1.token"), 0, r"worker-1"),
        ("how long", "empty", (*TOKENS, "--valid", "soon", "worker-1", "{dir}/other.token"), 2, r"soon"),
        ("no tokens", "empty", CONFIG, 1, r"controller\.yaml: enrolment with tokens over TLS is not configured \(set enrol\.tokens and enrol\.tls, then run "),
        ("no file", "empty", ("--config", "{dir}/none"), 1, NO_FILE)]),
    "keys token list": Command(formats=("json", "yaml"), states=[
        ("some", "fleet", TOKENS, 0, r"worker-1"),
        ("none", "empty", ("--tokens", "{dir}/none"), 0, r"/none: no tokens")]),
    "keys token revoke": Command(once=True, states=[
        ("nobody", "empty", (*TOKENS, "nobody"), 1, r"'nobody' not found: the file has no such token or node \(list tokens with `wattle keys token list`\)"),
        ("gone", "fleet", (*TOKENS, "worker-1"), 0, r"worker-1")]),
    "keys controller": Command(states=[
        ("all there", "fleet", CONFIG, 0, r"controller\.yaml: all files that it names exist"),
        ("no file", "empty", ("--config", "{dir}/none"), 2, NO_FILE)]),
    "keys bootstrap": Command(elsewhere="tests/e2e/kube/rbac_test.py", states=[
        ("no pod", "empty", (), 2, r"KUBERNETES_SERVICE_HOST: is not set: this process does not run in a pod \(pass --kubeconfig FILE or set KUBECONFIG\)"),
        ("no cluster", "empty", ("--kubeconfig", "{dir}/none"), None, NO_FILE)]),
    "keys unpack": Command(elsewhere="tests/unit/cli/cluster_test.cpp", states=[
        ("no folder", "empty", ("{dir}/none", "{dir}/unpacked"), 1, NO_FILE)]),
    "dashboard": Command(states=[
        ("the page", "empty", ("--server", "tcp://no.such.host.invalid:7462", "--timeout", "300ms"), 1, r"^wattle: dashboard: .*http\.port of the controller"),
        ("no browser", "empty", ("--context", "there", "--kubeconfig", "{dir}/none"), 1, r"^wattle: dashboard: ")], elsewhere="tests/e2e/dashboard_and_completion_test.py"),
    "install": Command(once=True, elsewhere="tests/e2e/kube/install_test.py", states=[  # longer than a terminal's screen
        ("the manifests", "empty", ("--registry", "registry.example/team", "--kubernetes", "v1.35.4"), 0, r"^# Made by .*kind: Namespace\n.*image: registry\.example/team/wattle-agent:"),
        ("no registry", "empty", ("--registry", "a b", "--kubernetes", "v1.35.4"), 2, r"--registry: invalid value 'a b' \(use the registry with its path"),
        ("no cluster", "empty", ("--registry", "registry.example", "--kubeconfig", "{dir}/none"), 1, r"/none: .*pass --kubernetes VERSION")]),
    "version": Command(asks="reader", formats=("json", "yaml"), states=[
        ("both", "fleet", (), 0, r"^client +\d+\.\d+\.\d+\ncontroller +\d+\.\d+\.\d+\n$")]),
    "help": Command(states=[
        ("all", "empty", (), 0, r"Usage: wattle .*Subcommands:"),
        ("of a command", "empty", ("policy", "set"), 0, r"^Change mode, .*Usage: wattle policy set "),
        ("unknown", "empty", ("polcy",), 2, r'^wattle: help: unknown command "polcy" \(did you mean "policy"\?')]),
    "join": Command(elsewhere="tests/e2e/machine/join_test.py", states=[
        ("no token", "empty", ("word",), 2, r"the token: is not a token of `wattle keys token new` \(copy the whole line that `wattle keys token new` printed, or create a new token\)")]),
    "up": Command(elsewhere="tests/e2e/packages/joining.py", states=[
        ("no folder", "empty", ("--folder", "/proc/none/x"), 1, r"/proc/none")]),
    "down": Command(elsewhere="tests/e2e/packages/joining.py", states=[
        ("nothing", "empty", ("--folder", "{dir}/none"), 1, r"/none: contains no installation of `wattle up` \(pass its folder: --folder FOLDER\)")]),
    "backup": Command(once=True, asks="operator", states=[
        ("there already", "fleet", (*CONFIG, "{dir}/controller.yaml"), 1, r"controller\.yaml: already exists"),
        ("no configuration", "fleet", ("--config", "{dir}/none", "{dir}/other.backup"), 1, NO_FILE),
        ("written", "fleet", (*CONFIG, "{dir}/one.backup"), 0, r"one\.backup: \d+ files, .*, mode 0600. The file contains the keys of the controller and the operator")]),
    "restore": Command(elsewhere="tests/e2e/packages/keeping.py", states=[
        ("no file", "fleet", (*CONFIG, "{dir}/none"), 1, NO_FILE),
        ("no backup", "fleet", (*CONFIG, "{dir}/controller.yaml"), 1, r"controller\.yaml"),
        ("the controller runs", "fleet", (*CONFIG, "{dir}/one.backup"), 1, r"\w")]),
    "completion": Command(states=[
        ("a script", "empty", ("bash",), 0, r"# bash completion for wattle"),
        ("no shell", "empty", ("tcsh",), 2, r'unknown value \"tcsh\" \(use one of bash, zsh, fish\)')]),
}
