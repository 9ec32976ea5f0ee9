// digest: fingerprints of content, to notice that a file changed, and of long random words; not for passwords.
// Errors   none (running out of memory aborts)
// Threads  any
#pragma once

#include <string>
#include <string_view>

namespace wattle {

// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view content);

}  // namespace wattle
