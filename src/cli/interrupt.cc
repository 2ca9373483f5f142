#include "cli/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace saccade {
namespace {

std::atomic<int> interrupts{0};
int pipe_ends[2] = {-1, -1};

// Async-signal-safe: an atomic, a write and _exit.
void OnSignal(int) {
  const int count = interrupts.fetch_add(1) + 1;
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &byte, 1);
  if (count >= 3) _exit(130);
}

}  // namespace

void CatchInterrupts() {
  if (pipe_ends[0] >= 0 || pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int InterruptCount() { return interrupts.load(); }

int InterruptDescriptor() { return pipe_ends[0]; }

}  // namespace saccade
