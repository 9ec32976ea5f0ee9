// `wattle completion bash`: a script made from the table of commands.
#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/commands.hpp"

namespace wattle::cli {

std::string bash_completion() {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : " ") + std::string(command.name);
  return "# bash completion for wattle: source <(wattle completion bash)\n"
         "_wattle() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' i\n"
         "  case $before in\n"
         "    -o|--output) COMPREPLY=($(compgen -W 'table wide json yaml' -- \"$word\")); return ;;\n"
         "    --key|--server-key|--allow-list|--kubeconfig|--scheduler|--values) COMPREPLY=($(compgen -f -- "
         "\"$word\")); return ;;\n"
         "  esac\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case \" " +
         names +
         " \" in *\" ${COMP_WORDS[i]} \"*) command=${COMP_WORDS[i]}; break ;; esac\n"
         "  done\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W '-o --output --server --key --server-key --timeout --help' -- \"$word\"))\n"
         "  elif [[ -z $command ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         names +
         "' -- \"$word\"))\n"
         "  elif [[ $before == keys ]]; then\n"
         "    COMPREPLY=($(compgen -W 'new list allow revoke rotate token controller bootstrap unpack' -- \"$word\"))\n"
         "  elif [[ $before == policy ]]; then\n"
         "    COMPREPLY=($(compgen -W 'get set promote rollback' -- \"$word\"))\n"
         "  elif [[ $before == model ]]; then\n"
         "    COMPREPLY=($(compgen -W 'list save load eval' -- \"$word\"))\n"
         "  elif [[ $command == keys ]]; then\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  elif [[ $before == completion ]]; then\n"
         "    COMPREPLY=($(compgen -W 'bash' -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _wattle wattle\n";
}

void declare_completion(CLI::App& command, Arguments& arguments) {
  command.add_option("SHELL", arguments.shell, "bash")->required()->check(CLI::IsMember({"bash"}));
}

int run_completion(const Invocation& invocation) {
  invocation.around.out << bash_completion();
  return invocation.around.out.flush() ? kOk : kProblem;
}

}  // namespace wattle::cli
