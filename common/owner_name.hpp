// owner_name: the name under which the pods of one application are grouped.
// Threads  pure
#pragma once

#include <string_view>

namespace wattle {

// Drops the suffix that a rollout or a schedule appends: "ReplicaSet/web-5d9f8c7b4" -> "ReplicaSet/web",
// "Job/backup-28123456" -> "Job/backup". Returns other names unchanged.
std::string_view lasting_owner(std::string_view owner);

}  // namespace wattle
