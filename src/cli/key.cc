// saccade key: makes an API key and the line that `saccade serve --api-keys` knows it by.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/sha256.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "server/server.h"

namespace saccade {
namespace {

struct KeyOptions {
  std::string name, file;
  std::vector<std::string> limits;
};

Result<std::string> MakeKey() {
  std::array<uint8_t, 32> random;
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return Internal("the system gives no random numbers: {}", std::strerror(errno));
  }
  std::string key = "sk-";
  for (const uint8_t byte : random) key += fmt::format("{:02x}", byte);
  return key;
}

// One write, so that a server that reads the file meanwhile sees a whole line or none.
Status AppendLine(const std::string& file, const std::string& line) {
  const Descriptor descriptor(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!descriptor.ok()) return InvalidArgument("cannot write {}: {}", file, std::strerror(errno));
  if (write(descriptor.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return InsufficientStorage("cannot write {}: {}", file, std::strerror(errno));
  }
  return OkStatus();
}

Status Run(const KeyOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const std::string key, MakeKey());
  std::string line = fmt::format("{} sha256:{}", options.name, ToHex(Sha256Of(key)));
  for (const std::string& limit : options.limits) line += " " + limit;
  // Refused here rather than by the server at its next look.
  SACCADE_RETURN_IF_ERROR(ParseApiKeys(line).status());
  if (options.file.empty()) {
    fmt::print("{}\n", key);
    fmt::print(stderr, "The key is shown only now. Line for the file of --api-keys:\n{}\n", line);
    return OkStatus();
  }
  SACCADE_RETURN_IF_ERROR(AppendLine(options.file, line + "\n"));
  fmt::print("{}\n", key);
  fmt::print(stderr,
             "The key is shown only now; {} knows its hash. Running servers read it within a second.\n",
             options.file);
  return OkStatus();
}

}  // namespace

void AddKeyCommand(CLI::App& program, Command& chosen) {
  CLI::App* const command = program.add_subcommand("key", "Make an API key for `saccade serve --api-keys`");
  const auto options = std::make_shared<KeyOptions>();
  command->add_option("name", options->name, "What the log calls the key, without spaces")->required();
  command->add_option("limits", options->limits,
                      "max-concurrent=N, requests-per-minute=N, scope=NAME, batch");
  command->add_option("--file", options->file, "Append the key's line to this file");
  command->callback([options, &chosen] { chosen = [options] { return Report(Run(*options)); }; });
}

}  // namespace saccade
