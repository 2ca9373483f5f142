// The files of saccade ask: arguments to files, files to pictures and pages.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "engine/request.h"
#include "server/server.h"

namespace saccade {

struct AskFiles {
  std::vector<std::string> names;
  bool many = false;  // a folder or a pattern was among the arguments: each file gets the question
};

// Folders become the pictures and documents in them, by name; patterns with * ? [ what they match. "-" is
// standard input.
Result<AskFiles> ExpandArguments(const std::vector<std::string>& arguments);

struct AskFileOptions {
  std::optional<PixelLimits> limits;
  int64_t max_pixels = 0;  // of the model, when there are no limits
  DocumentRequest documents;
  DocumentSettings settings;
};

// Reads one file and adds it to `input` and, as parts, to `content`: a picture, or the pages of a document.
// Errors name the file.
Status AddFile(const std::string& name, const AskFileOptions& options, ChatInput& input, Message& message);

}  // namespace saccade
