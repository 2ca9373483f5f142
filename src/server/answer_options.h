// What chat and text completions have in common: how the answer is made and sent. Fields declared once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/request.h"
#include "server/schema.h"

namespace saccade {

// More answers at once would crowd out everybody else.
inline constexpr int kMaxChoices = 16;

struct AnswerOptions {
  std::string model = "default";
  int choices = 1;                        // "n"
  bool stream = false;                    // server-sent events
  bool include_usage = false;             // a last chunk of a stream with the token counts
  bool include_progress = false;          // chunks of a stream that say what is going on
  bool batch = false;                     // of the batch class: behind everything interactive
  std::optional<double> timeout_seconds;  // to the end of the answer
  GenerationOptions generation;
};

// Reads and checks the common fields of a request's body.
Status ReadAnswerOptions(const OrderedJson& document, AnswerOptions& out);

// The shorter of the field `timeout` and the header x-request-timeout.
Result<std::optional<double>> RequestTimeout(std::optional<double> field, std::string_view header);

// The properties of the common fields, for /openapi.json.
void AddAnswerOptionsSchema(OrderedJson& schema);

}  // namespace saccade
