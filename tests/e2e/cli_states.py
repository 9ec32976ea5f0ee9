"""cli_states: what each command of `wattle` says in each state, for cli_states_test.py.

A command  asks: whose key it needs to ask the controller, or None; tty: whether its answer is looked at in a terminal too
States     (name, world, words, exit code, pattern); `world` is where it is asked: "empty", a controller alone, or "fleet"; where the code is 0 the pattern
           stands on standard output, else on standard error and nothing of the kind on the other
Words      {dir} the house's folder, {root} the sources, {node} a node, {pod} a pod that was decided about, {captured} one of the captured node
"""
from typing import NamedTuple

ALL = ("wide", "json", "yaml")


class Command(NamedTuple):
    states: list
    asks: str = ""          # "reader" or "operator"
    formats: tuple = ()     # of -o, of its first state in the fleet
    once: bool = False      # it changes something: done once, not in a terminal again
    elsewhere: str = ""     # a test that has states which this one cannot have


NO_STORE = "there is no store"  # never here: both worlds have one
NO_NODES = "no nodes yet: no agent has said hello"
NOBODY = r"^wattle: node nobody: not found: no agent of that name has said Hello \(`wattle nodes` lists them\)"
NO_POD = r"^wattle: pod nobody: not found: no recent decision is about it \(`wattle decisions` lists what is kept\)"
NO_FILE = r"/none: No such file or directory"
TOKENS = ("--tokens", "{dir}/tokens")
LIST = ("--allow-list", "{dir}/own-list")
CONFIG = ("--config", "{dir}/controller.yaml")

COMMANDS = {
    "nodes": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, NO_NODES),
        ("one", "fleet", (), 0, r"NODE +STATE +AGE .*\n{node} +up +\S+ .* W est")]),
    "node": Command(asks="reader", formats=ALL, states=[
        ("one", "fleet", ("{node}",), 0, r"node +{node}\n.*power curve .*\n\nfindings"),
        ("unknown", "fleet", ("nobody",), 1, NOBODY)]),
    "pods": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, r"^no pods\n$"),
        ("some", "fleet", (), 0, r"POD +NODE +CPU .*"),
        ("of a node", "fleet", ("--node", "captured"), 0, r"POD +NODE.*captured"),
        ("of this machine, which may have some of another's", "fleet", ("--node", "{node}"), 0, r"^no pods\n$|^POD +NODE.*{node}"),
        ("of an unknown node", "fleet", ("--node", "nobody"), 1, NOBODY)]),
    "pod": Command(asks="reader", formats=ALL, states=[
        ("one", "fleet", ("{captured}",), 0, r"pod +\S+\nuid +{captured}\nnode +captured\n.*energy +\S+ .*\n\n(no container of it is known yet|CONTAINER +CPU .*\(rest\))"),
        ("unknown", "fleet", ("nobody",), 1, r"^wattle: pod nobody: not found: no agent tells of it now \(`wattle pods` lists them\)"),
        ("not named", "fleet", (), 2, r"POD is required|pod is required")]),
    "top": Command(asks="reader", formats=ALL, elsewhere="tests/e2e/top_test.py", states=[
        ("nothing", "empty", ("--once",), 0, "nodes 0/0 .*\n\n" + NO_NODES),
        ("all", "fleet", ("--once",), 0, r"live dqn \| nodes 2/2 .*NODE +STATE"),
        ("both at once", "fleet", ("--once", "--watch"), 2, r"--watch excludes --once")]),
    "watch": Command(asks="reader", elsewhere="tests/e2e/watch_test.py", states=[
        ("of what is not there", "fleet", ("clouds",), 2, r"clouds not in \{nodes,pods,decisions\}"),
        ("no feed", "fleet", ("--timeout", "10m", "--feed", "{nowhere}", "decisions"), 1,
         r"feed: nobody answers at {nowhere} \(does the controller run, and is --feed its feed\?\)")]),
    "decisions": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, "no decisions yet: nobody has asked"),
        ("none of that time", "empty", ("--since", "1h"), 0, "no decision of that time is kept"),
        ("some", "fleet", (), 0, r"ID +TIME +POD +BY +ADVICE .*default/pod-{pod} +\S+ +{node} "),
        ("no time", "fleet", ("--since", "soon"), 2, r"^wattle: argument since: is 'soon' \(a span of time, as in 90m, 24h, 7d\)"),
        ("no number", "fleet", ("--limit", "0"), 2, r"--limit: Value 0 not in range")]),
    "report": Command(asks="reader", formats=("json", "yaml"), states=[
        ("nothing recorded", "empty", (), 0, r"nothing is recorded yet: no sample has come"),
        ("what was used", "fleet", (), 0, r"NAMESPACE +MEASURED +ESTIMATED .*\(all nodes\)"),
        ("by node", "fleet", ("--by", "node"), 0, r"NODE +MEASURED .*DRAWN.*\n{node} "),
        ("by a label of no name", "fleet", ("--by", "label"), 2, r"^wattle: argument label: is missing \(name the label's key, as in label=team\)"),
        ("of an unknown pod", "fleet", ("--pod", "nobody"), 1, r"^wattle: pod nobody: not found: "),
        ("by what is not there", "fleet", ("--by", "colour"), 2, r"--by: colour not in \{namespace,owner,node,label,container\}")]),
    "provision list": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/e2e/provision_test.py", states=[
        ("no API server", "fleet", (), 0, r"no API server is followed, so that nobody tells what pods request \(kubernetes\.watch\)")]),
    "provision suggest": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/e2e/provision_test.py", states=[
        ("no API server", "fleet", (), 0, r"no API server is followed")]),
    "provision why": Command(asks="reader", elsewhere="tests/e2e/provision_test.py", states=[
        ("unknown", "fleet", ("nobody",), 1, r"^wattle: workload nobody: not found: is not known, or has told nothing yet \(as NAMESPACE/KIND/NAME; `wattle provision list` has them\)")]),
    "provision replicas": Command(asks="reader", formats=("json", "yaml"), elsewhere="tests/e2e/provision_test.py", states=[
        ("not suggested", "fleet", (), 0, r"^numbers of replicas are not suggested \(provisioning\.replicas: suggest\)")]),
    "provision margins": Command(asks="reader", formats=("json", "yaml"), states=[
        ("no service", "fleet", (), 0, r"^Mode shadow: .*\n0 gradient steps on 0 minutes kept\.\nno agent tells of a service at level limits \(provisioning\.limits in its configuration\)")]),
    "provision set": Command(elsewhere="tests/e2e/kube/resize_test.py", states=[
        ("no namespace", "fleet", (), 2, r"--namespace: no namespace is named \(give --namespace NAME, or the workload as NAMESPACE/KIND/NAME\)"),
        ("no cluster", "fleet", ("--namespace", "shop", "--kubeconfig", "{dir}/none"), 1, NO_FILE),
        ("no time", "fleet", ("--every", "0"), 2, r"--every: Value 0 not in range")]),
    "provision restore": Command(elsewhere="tests/e2e/kube/resize_test.py", states=[
        ("no namespace", "fleet", (), 2, r"--namespace: no namespace is named"),
        ("no cluster", "fleet", ("--namespace", "shop", "--kubeconfig", "{dir}/none"), 1, NO_FILE)]),
    "explain": Command(asks="reader", formats=ALL, states=[
        ("a pod", "fleet", ("{pod}",), 0, r"^default/pod-{pod}: {node} was advised\. The pod adds [\d.]+ W there by the model.*\nDecision \d+ by "),
        ("what if", "fleet", ("{pod}", "--cpu", "1"), 0, r"What if default/pod-{pod} \(decision \d+\) were placed now, .*\nAs it is: .*\nThen: "),
        ("what if, no amount", "fleet", ("{pod}", "--cpu", "much"), 2, r"^wattle: argument cpu: 'much' is no amount"),
        ("what if, no weight", "fleet", ("{pod}", "--weight", "energy"), 2, r"--weight energy: is not NAME=NUMBER \(--weight energy=2\)"),
        ("what if, unknown node", "fleet", ("{pod}", "--without", "nobody"), 1, r"^wattle: node nobody: not found: is no candidate of decision \d+"),
        ("the advised node is marked, and the column that rows are sorted by is shown", "fleet", ("{pod}",), 0, r"\nADVISED +NODE +Q +SCORE .*\n\* +{node} .*\nSorted by Q\."),
        ("unknown", "fleet", ("nobody",), 1, NO_POD)]),
    "place": Command(asks="operator", formats=("json", "yaml"), states=[
        ("no node", "empty", ("batch", "--cpu", "1"), 1, r"nodes: no agent is connected \(`wattle nodes` and `wattle doctor` say more\)"),
        ("a node", "fleet", ("batch", "--cpu", "100m", "--nodes", "{node}"), 0, r"^{node}\nwhy: +wattle explain \S+\nwhen it runs: +wattle confirm \S+ {node}\n$"),
        ("unknown nodes", "fleet", ("batch", "--cpu", "100m", "--nodes", "nobody,noone"), 1, r"^wattle: node nobody: not found: no agent has registered under that name \(list nodes with `wattle nodes`\)"),
        ("too big", "fleet", ("batch", "--cpu", "4000"), 1, r"^no node is advised for batch: no candidate is feasible: cpu does not fit"),
        ("no amount", "fleet", ("batch", "--cpu", "much"), 2, r"--cpu: 'much' is no amount \(write 250m, 1\.5, 64Mi or 2Gi\)"),
        ("no time", "fleet", ("batch", "--cpu", "1", "--latency-soft", "quick"), 2, r"--latency-soft: 'quick' is no time \(write 20ms or 1s\)"),
        ("with what comes next", "fleet", ("batch", "--cpu", "100m", "--nodes", "{node}", "--next", "1,1Gi", "--next", "2,1Gi,big"), 0, r"^{node}\n"),
        ("no next", "fleet", ("batch", "--cpu", "1", "--next", "4"), 2, r"--next: '4' is not CPU,MEMORY \(write 4,8Gi or 4,8Gi,APP\)"),
        ("no file of next", "fleet", ("batch", "--cpu", "1", "--next-file", "{dir}/none"), 2, r"/none: No such file or directory"),
        ("no time to wait", "fleet", ("batch", "--cpu", "1", "--defer", "later"), 2, r"--defer: 'later' is no time"),
        ("too big to wait for", "fleet", ("batch", "--cpu", "4000", "--defer", "30s"), 1, r"^no node is advised for batch: no candidate is feasible: cpu does not fit")]),
    "confirm": Command(once=True, asks="operator", states=[
        ("unknown node", "fleet", ("{pod}", "nobody"), 1, r"^wattle: node nobody: not found: no agent has registered under that name \(list nodes with `wattle nodes`\)"),
        ("it runs", "fleet", ("{pod}", "{node}"), 0, r"^{pod} runs on {node}\nends: +when you run wattle done {pod}, at .* UTC at the latest\nunit: +none of its name is on {node} yet; name it with --unit\n$")]),
    "done": Command(once=True, asks="operator", elsewhere="tests/e2e/nights_test.py", states=[
        ("unknown workload", "fleet", ("nobody",), 1, r"^wattle: .*nobody")]),
    "doctor": Command(asks="reader", formats=ALL, states=[
        ("nothing to mend", "empty", (), 0, r"controller ok, 0 of 0 nodes connected: well"),
        ("a fleet", "fleet", (), None, r"controller ok, 2 of 2 nodes connected: (well|something must be mended)"),
        ("before installing, no file", "fleet", ("--pre", "--scheduler", "{dir}/none"), 2, r"/none: No such file or directory")]),
    "gaps": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, r"^no gaps: every sample that was told of is in the store\n$"),
        ("of a node", "fleet", ("--node", "{node}"), 0, r"no gaps: every sample"),
        ("of an unknown node", "fleet", ("--node", "nobody"), 1, NOBODY)]),
    "status": Command(asks="reader", formats=ALL, states=[
        ("first seconds", "empty", (), 0, r"nodes +0 of 0 connected\n.*power +-\n.*decisions +0 since \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ, 0\.0/s"),
        ("a fleet", "fleet", (), 0, r"mode +live\n.*nodes +2 of 2 connected\n.*who serves +")]),
    "policy get": Command(asks="reader", formats=ALL, states=[
        ("as configured", "fleet", (), 0, r"mode +live, .*\nsaving +not known: 0 treated and 0 control blocks measured\n.*CHANGE +TIME +WHO +WHAT")]),
    "policy set": Command(once=True, asks="operator", formats=ALL, states=[
        ("nothing", "fleet", (), 2, r"policy set: nothing is named that would change \(--mode, --policy, --reward or another: wattle policy set --help\)"),
        ("nothing but why", "fleet", ("--why", "so"), 2, r"nothing is named that would change"),
        ("no mode", "fleet", ("--mode", "alive"), 2, r"^wattle: mode alive: is not known \(one of off, shadow, canary:P% .*, live\)"),
        ("no policy", "fleet", ("--policy", "oracle-of-delphi"), 2, r"^wattle: policy oracle-of-delphi: is not known \(one of dqn, "),
        ("no weight", "fleet", ("--weight", "energy"), 2, r"--weight energy: is not NAME=NUMBER"),
        ("force without why", "empty", ("--mode", "live", "--force"), 2, r"why"),
        ("a weight out of range", "fleet", ("--weight", "energy=1000"), 2, r"^wattle: weight\.energy: is 1000"),
        ("a closed gate", "empty", ("--mode", "live"), 1, r"^wattle: mode live: its gate is closed: .* \(wait, `wattle policy get` shows the gate; or go past it with --force --why TEXT\)"),
        ("a share of waiting", "fleet", ("--cpu-wait", "2%", "--why", "a test"), 0, r"waiting +at most 2\.0% of pods' time;.*a test"),
        ("a share of lateness", "fleet", ("--late", "3%", "--why", "a test"), 0, r"late +at most 3\.0% of pods' time; .* times\n.*a test"),
        ("no share", "fleet", ("--late", "much"), 2, r"^wattle: late: 'much' is no number")]),
    "policy promote": Command(once=True, asks="operator", states=[
        ("one further", "empty", ("--why", "a test"), 0, r"^mode +shadow, .*promotion +to canary:10% is closed: 0 of 100 decisions.*mode off -> shadow +a test"),
        ("nothing beyond", "fleet", (), 1, r"live")]),
    "policy rollback": Command(once=True, asks="operator", states=[
        ("no such change", "fleet", ("--to", "99"), 1, r"^wattle: change 99: not found: holds nothing to go back to \(`wattle policy get` lists changes\)"),
        ("no number", "fleet", ("--to", "then"), 2, r"^wattle: argument to: 'then' is no change's number"),
        ("back", "empty", (), 0, r"^mode +off, .*rolled back to change \d+: mode shadow -> off")]),
    "model list": Command(asks="reader", formats=ALL, states=[
        ("none", "empty", (), 0, r"^no network is kept yet: wattle model save NAME\n\nServing: "),
        ("some", "fleet", (), 0, r"NAME +STEP +SAVED .*\nkept .*Serving: ")]),
    "model save": Command(asks="operator", formats=("json", "yaml"), states=[
        ("no name", "fleet", ("a b",), 2, r"^wattle: checkpoint 'a b': is no name \(a letter, then letters, digits, - and _, at most 64\)"),
        ("kept", "fleet", ("kept",), 0, r"\nkept .* yes ")]),
    "model load": Command(once=True, asks="operator", states=[
        ("unknown", "fleet", ("nobody",), 1, r"^wattle: model nobody: not found: no network of that name is kept \(`wattle model list` has names\)"),
        ("loaded", "fleet", ("kept", "--why", "a test"), 0, r"Serving: \w+, loaded from kept")]),
    "model eval": Command(asks="operator", states=[
        ("unknown", "fleet", ("nobody",), 1, r"^wattle: model nobody: not found: no network of that name is kept \(`wattle model list` has names\)"),
        ("compared", "fleet", ("kept",), 0, r"decisions +\d+, .*same choice")]),
    "model record": Command(once=True, asks="reader", states=[
        ("no folder", "fleet", ("{dir}/none/record",), 1, r"/none/record: No such file or directory"),
        ("there already", "fleet", ("{dir}/controller.yaml",), 1, r"controller\.yaml: .*there"),
        ("written", "fleet", ("{dir}/record",), 0, r"/record: 2 nodes, ")]),
    "model add": Command(asks="operator", once=True, states=[
        ("no file", "fleet", ("mine", "{dir}/none"), 1, NO_FILE),
        ("no network", "fleet", ("mine", "{dir}/controller.yaml"), 1, r"controller\.yaml: is no network \(name a safetensors file, as wattle-sim improve writes it\)"),
        ("added", "fleet", ("mine", "{root}/models/pretrained/weighted.safetensors"), 0, r"\nmine ")]),
    "keys new": Command(once=True, states=[
        ("made", "empty", ("{dir}/mine.key",), 0, r"mine\.key: secret key pair, mode 0400\n.*mine\.key\.pub: public key "),
        ("there already", "empty", ("{dir}/reader.key",), 1, r"reader\.key: is there already and is not overwritten \(name another file, or move it away\)"),
        ("no folder", "empty", ("{dir}/none/x.key",), 1, r"/none/x\.key: No such file or directory")]),
    "keys list": Command(formats=("json", "yaml"), states=[
        ("some", "fleet", LIST, 0, r"KEY +ROLE +NAME +NOTE\n.* reader +cli"),
        ("which", "empty", (), 2, r"--allow-list: no allow list is named \(give --allow-list FILE, or allow_list in the configuration\)"),
        ("no file", "empty", ("--allow-list", "{dir}/none"), 2, NO_FILE)]),
    "keys allow": Command(once=True, states=[
        ("allowed", "empty", (*LIST, "{dir}/stranger.key.pub", "reader", "somebody"), 0, r"own-list: allows \S+ reader somebody"),
        ("no key", "empty", (*LIST, "much", "reader", "x"), 2, r"much: No such file or directory \(name a public key of 40 characters or a file that has one\)"),
        ("a secret", "empty", (*LIST, "{dir}/stranger.key", "reader", "x"), 2, r"stranger\.key: is a secret key pair \(name \S+stranger\.key\.pub\)"),
        ("no role", "empty", (*LIST, "{dir}/stranger.key.pub", "king", "x"), 2, r"role: 'king' is none \(use agent, shim, reader or operator\)"),
        ("no name", "empty", (*LIST, "{dir}/stranger.key.pub", "reader", "a b"), 2, r"a b: is no name \(use letters, digits"),
        ("another's", "empty", (*LIST, "{dir}/reader.key.pub", "shim", "x"), 1, r"is reader cli there \(revoke it first: wattle keys revoke cli\)")]),
    "keys revoke": Command(once=True, states=[
        ("nobody", "empty", (*LIST, "nobody"), 1, r"'nobody' not found: it has no such key or name, nor the key of a file of that name \(list keys with `wattle keys list`\)"),
        ("gone", "empty", (*LIST, "somebody"), 0, r"own-list: no longer allows \S+ reader somebody")]),
    "keys rotate": Command(once=True, states=[
        ("no pair", "empty", ("{dir}/none",), 1, r"/none: No such file or directory \(make a pair with 'wattle keys new'\)"),
        ("no next pair", "empty", ("--switch", "{dir}/stranger.key"), 1, r"stranger\.key\.next: no next pair is there \(make it with: wattle keys rotate \S+\)"),
        ("made", "empty", ("{dir}/stranger.key",), 0, r"stranger\.key\.next: next secret key pair, mode 0400\n.*wattle keys rotate --switch ")]),
    "keys token new": Command(once=True, states=[
        ("made", "fleet", (*TOKENS, "worker-1", "{dir}/worker-1.token"), 0, r"worker-1"),
        ("how long", "empty", (*TOKENS, "--valid", "soon", "worker-1", "{dir}/other.token"), 2, r"soon")]),
    "keys token list": Command(formats=("json", "yaml"), states=[
        ("some", "fleet", TOKENS, 0, r"worker-1"),
        ("none", "empty", ("--tokens", "{dir}/none"), 0, r"/none: no tokens")]),
    "keys token revoke": Command(once=True, states=[
        ("nobody", "empty", (*TOKENS, "nobody"), 1, r"'nobody' not found: it has no such token or node \(list tokens with `wattle keys token list`\)"),
        ("gone", "fleet", (*TOKENS, "worker-1"), 0, r"worker-1")]),
    "keys controller": Command(states=[
        ("all there", "fleet", CONFIG, 0, r"controller\.yaml: all that it names is there"),
        ("no file", "empty", ("--config", "{dir}/none"), 2, NO_FILE)]),
    "keys bootstrap": Command(elsewhere="tests/e2e/kube/rbac_test.py", states=[
        ("no pod", "empty", (), 2, r"KUBERNETES_SERVICE_HOST: is not in the environment: this is no pod \(give --kubeconfig FILE, or set KUBECONFIG\)"),
        ("no cluster", "empty", ("--kubeconfig", "{dir}/none"), None, NO_FILE)]),
    "keys unpack": Command(elsewhere="tests/unit/cli/cluster_test.cpp", states=[
        ("no folder", "empty", ("{dir}/none", "{dir}/unpacked"), 1, NO_FILE)]),
    "token": Command(elsewhere="tests/e2e/machine/join_test.py", states=[
        ("nobody may enrol", "empty", CONFIG, 1, r"controller\.yaml: lets nobody enrol by a token over TLS \(set enrol\.tokens and enrol\.tls there, then: "),
        ("no file", "empty", ("--config", "{dir}/none"), 1, NO_FILE)]),
    "join": Command(elsewhere="tests/e2e/machine/join_test.py", states=[
        ("no token", "empty", ("word",), 2, r"the token: does not look like one of `wattle token` \(copy the whole line that `wattle token` printed, or make another\)")]),
    "up": Command(elsewhere="tests/e2e/packages/joining.py", states=[
        ("no folder", "empty", ("--folder", "/proc/none/x"), 1, r"/proc/none")]),
    "down": Command(elsewhere="tests/e2e/packages/joining.py", states=[
        ("nothing", "empty", ("--folder", "{dir}/none"), 1, r"/none: has nothing that `wattle up` started \(name its folder: --folder FOLDER\)")]),
    "backup": Command(once=True, asks="operator", states=[
        ("there already", "fleet", (*CONFIG, "{dir}/controller.yaml"), 1, r"controller\.yaml: .*there"),
        ("no configuration", "fleet", ("--config", "{dir}/none", "{dir}/other.backup"), 1, NO_FILE),
        ("written", "fleet", (*CONFIG, "{dir}/one.backup"), 0, r"one\.backup: \d+ files, .*, mode 0600; the keys of controller and operator are among them")]),
    "restore": Command(elsewhere="tests/e2e/packages/keeping.py", states=[
        ("no file", "fleet", (*CONFIG, "{dir}/none"), 1, NO_FILE),
        ("no backup", "fleet", (*CONFIG, "{dir}/controller.yaml"), 1, r"controller\.yaml"),
        ("the controller runs", "fleet", (*CONFIG, "{dir}/one.backup"), 1, r"\w")]),
    "completion": Command(states=[
        ("a script", "empty", ("bash",), 0, r"# bash completion for wattle"),
        ("no shell", "empty", ("tcsh",), 2, r"tcsh not in \{bash,zsh,fish\}")]),
}
