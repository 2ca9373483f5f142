#include "documents/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/descriptor.h"

namespace saccade {
namespace {

using Clock = std::chrono::steady_clock;

Result<Descriptor> FileInMemory(std::span<const std::byte> bytes) {
  Descriptor file(memfd_create("document", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.ok()) return Unavailable("no file in memory could be made: {}", std::strerror(errno));
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Unavailable("the document could not be handed over: {}", std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  lseek(file.get(), 0, SEEK_SET);
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return file;
}

// The lists that posix_spawn takes, freed at the end.
struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnSetup(int input, int output) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // A group of its own: Ctrl-C on the terminal is for the parent to handle.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

Result<pid_t> Spawn(const std::vector<std::string>& arguments, int input, int output) {
  const SpawnSetup setup(input, output);
  std::vector<char*> argv;
  std::string name = "saccade";
  argv.push_back(name.data());
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char locale[] = "LC_ALL=C.UTF-8";
  char* environment[] = {locale, nullptr};
  pid_t child = 0;
  const int error =
      posix_spawn(&child, "/proc/self/exe", &setup.actions, &setup.attributes, argv.data(), environment);
  if (error != 0)
    return Unavailable("the process for documents could not be started: {}", std::strerror(error));
  return child;
}

// Until the end of the pipe, or until a limit is reached.
void ReadOutput(int pipe, const ChildLimits& limits, ChildRun& run) {
  const auto deadline = Clock::now() + limits.wall;
  std::vector<char> buffer(size_t{1} << 16);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      run.timed_out = true;
      return;
    }
    pollfd waited = {pipe, POLLIN, 0};
    if (poll(&waited, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t count = read(pipe, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    run.output.append(buffer.data(), static_cast<size_t>(count));
    if (run.output.size() > limits.max_output_bytes) {
      run.too_much = true;
      return;
    }
  }
}

}  // namespace

Result<ChildRun> RunSelf(const std::vector<std::string>& arguments, std::span<const std::byte> input,
                         const ChildLimits& limits) {
  SACCADE_ASSIGN_OR_RETURN(const Descriptor file, FileInMemory(input));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Unavailable("no pipe could be made: {}", std::strerror(errno));
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  SACCADE_ASSIGN_OR_RETURN(const pid_t child, Spawn(arguments, file.get(), write_end.get()));
  write_end = Descriptor();  // so that the end of the child is the end of the pipe
  ChildRun run;
  ReadOutput(read_end.get(), limits, run);
  // It may have closed its output and gone on; nothing more is expected of it.
  if (run.timed_out || run.too_much) kill(child, SIGKILL);
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(state)) run.exit_code = WEXITSTATUS(state);
  if (WIFSIGNALED(state)) run.signal = WTERMSIG(state);
  return run;
}

}  // namespace saccade
