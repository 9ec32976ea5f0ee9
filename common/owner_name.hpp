// owner_name: the name by which the pods of one application are counted together.
// Threads  pure
#pragma once

#include <string_view>

namespace wattle {

// "ReplicaSet/web-5d9f8c7b4" -> "ReplicaSet/web", "Job/backup-28123456" -> "Job/backup": what a rollout or a schedule appends to the name is
// left out. Others stay.
std::string_view lasting_owner(std::string_view owner);

}  // namespace wattle
