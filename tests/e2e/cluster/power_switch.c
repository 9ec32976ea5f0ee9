/* power_switch: the operator's program of the `exec` power driver in a test cluster. It passes the request on to the
 * test, which owns the switch, and returns its answer.
 * Usage    power_switch SOCKET, with a request as JSON on standard input; static, because it runs in the controller's image
 * Source   a UNIX socket; the answer is a line with the exit status, then the output
 * Errors   69: the test does not answer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { UNAVAILABLE = 69 };

static int copy(int from, int to) {
  char text[4096];
  ssize_t size;
  while ((size = read(from, text, sizeof text)) > 0)
    if (write(to, text, (size_t)size) != size) return -1;
  return size < 0 ? -1 : 0;
}

int main(int count, char** words) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (count != 2 || strlen(words[1]) >= sizeof address.sun_path) return UNAVAILABLE;
  strcpy(address.sun_path, words[1]);
  const int link = socket(AF_UNIX, SOCK_STREAM, 0);
  if (link < 0 || connect(link, (struct sockaddr*)&address, sizeof address) != 0) {
    perror(words[1]);
    return UNAVAILABLE;
  }
  if (copy(STDIN_FILENO, link) != 0 || shutdown(link, SHUT_WR) != 0) return UNAVAILABLE;
  char status[8] = "";
  for (size_t i = 0; i + 1 < sizeof status && read(link, status + i, 1) == 1 && status[i] != '\n'; ++i) continue;
  if (status[0] == 0 || copy(link, STDOUT_FILENO) != 0) return UNAVAILABLE;
  return atoi(status);
}
