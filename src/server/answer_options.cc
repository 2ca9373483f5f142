#include "server/answer_options.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace saccade {
namespace {

void StoreStop(AnswerOptions& out, const OrderedJson& value) {
  out.generation.stop.clear();
  if (value.is_string()) {
    out.generation.stop.push_back(value.get<std::string>());
  } else {
    for (const OrderedJson& text : value) out.generation.stop.push_back(text.get<std::string>());
  }
  std::erase(out.generation.stop, "");
}

// Negative seeds are as good as others.
void StoreSeed(AnswerOptions& out, const OrderedJson& value) {
  out.generation.seed = static_cast<uint64_t>(value.get<int64_t>());
}

constexpr Field<AnswerOptions> kStreamOptionFields[] = {
    {{.name = "include_usage", .type = FieldType::kBool, .help = "send token counts in a last chunk"},
     [](AnswerOptions& out, const OrderedJson& value) { out.include_usage = value.get<bool>(); }},
    {{.name = "include_progress",
      .type = FieldType::kBool,
      .help = "send chunks without choices whose progress tells the stage: queued, encoding, prefill"},
     [](AnswerOptions& out, const OrderedJson& value) { out.include_progress = value.get<bool>(); }},
};

constexpr double kMinTimeout = 0.001, kMaxTimeout = 86400;
constexpr double kMaxPenalty = 2, kMaxSeed = 9.2e18;
constexpr double kMaxTokens = 1 << 24;
constexpr size_t kMaxStopTexts = 16;

#define SACCADE_STORE_FLOAT(member) \
  [](AnswerOptions& out, const OrderedJson& value) { out.generation.member = value.get<float>(); }
#define SACCADE_STORE_INT(member) \
  [](AnswerOptions& out, const OrderedJson& value) { out.generation.member = value.get<int>(); }

constexpr Field<AnswerOptions> kFields[] = {
    {{.name = "model", .type = FieldType::kString, .help = "the model's name or \"default\""},
     [](AnswerOptions& out, const OrderedJson& value) { out.model = value.get<std::string>(); }},
    {{.name = "stream",
      .type = FieldType::kBool,
      .help = "answer as server-sent events while tokens are made"},
     [](AnswerOptions& out, const OrderedJson& value) { out.stream = value.get<bool>(); }},
    {{.name = "stream_options",
      .type = FieldType::kObject,
      .help =
          "include_usage: token counts in a last chunk; include_progress: chunks with the state of work"}},
    {{.name = "max_tokens",
      .type = FieldType::kInt,
      .help = "most tokens of the answer",
      .min = 1,
      .max = kMaxTokens},
     SACCADE_STORE_INT(max_tokens)},
    {{.name = "max_completion_tokens",
      .type = FieldType::kInt,
      .help = "newer name of max_tokens; wins over it",
      .min = 1,
      .max = kMaxTokens},
     SACCADE_STORE_INT(max_tokens)},
    {{.name = "temperature",
      .type = FieldType::kNumber,
      .help = "0 is greedy; higher is more varied",
      .min = 0,
      .max = 2},
     SACCADE_STORE_FLOAT(temperature)},
    {{.name = "top_p",
      .type = FieldType::kNumber,
      .help = "sample from the tokens that make up this share",
      .min = 0,
      .max = 1},
     SACCADE_STORE_FLOAT(top_p)},
    {{.name = "top_k",
      .type = FieldType::kInt,
      .help = "sample from this many tokens; -1 and 0: all",
      .min = -1,
      .max = 1 << 20},
     [](AnswerOptions& out, const OrderedJson& value) {
       out.generation.top_k = std::max(0, value.get<int>());
     }},
    {{.name = "min_p",
      .type = FieldType::kNumber,
      .help = "leave out tokens below this share of the best one's",
      .min = 0,
      .max = 1},
     SACCADE_STORE_FLOAT(min_p)},
    {{.name = "presence_penalty",
      .type = FieldType::kNumber,
      .help = "against tokens that were used",
      .min = -kMaxPenalty,
      .max = kMaxPenalty},
     SACCADE_STORE_FLOAT(presence_penalty)},
    {{.name = "frequency_penalty",
      .type = FieldType::kNumber,
      .help = "against tokens by how often they were used",
      .min = -kMaxPenalty,
      .max = kMaxPenalty},
     SACCADE_STORE_FLOAT(frequency_penalty)},
    {{.name = "repetition_penalty",
      .type = FieldType::kNumber,
      .help = "divides the scores of used tokens; 1: off",
      .min = 0.01,
      .max = 10},
     SACCADE_STORE_FLOAT(repetition_penalty)},
    {{.name = "seed",
      .type = FieldType::kInt,
      .help = "same seed, same answer",
      .min = -kMaxSeed,
      .max = kMaxSeed},
     StoreSeed},
    {{.name = "stop",
      .type = FieldType::kStringOrList,
      .help = "texts that end the answer; not part of it",
      .max_items = kMaxStopTexts},
     StoreStop},
    {{.name = "n",
      .type = FieldType::kInt,
      .help = "answers per request; the prompt is computed once",
      .min = 1,
      .max = kMaxChoices},
     [](AnswerOptions& out, const OrderedJson& value) { out.choices = value.get<int>(); }},
    {{.name = "ignore_eos", .type = FieldType::kBool, .help = "go on past the end token, for load tests"},
     [](AnswerOptions& out, const OrderedJson& value) { out.generation.ignore_eos = value.get<bool>(); }},
    {{.name = "timeout",
      .type = FieldType::kNumber,
      .help = "seconds in which the answer must be complete, also as header x-request-timeout; refused with "
              "429 when that cannot be",
      .min = kMinTimeout,
      .max = kMaxTimeout},
     [](AnswerOptions& out, const OrderedJson& value) { out.timeout_seconds = value.get<double>(); }},
    {{.name = "service_tier",
      .type = FieldType::kString,
      .help = "flex: behind everything that is not flex",
      .choices = "auto|default|flex|priority"},
     [](AnswerOptions& out, const OrderedJson& value) { out.batch = value == "flex"; }},
    {{.name = "logit_bias",
      .type = FieldType::kObject,
      .help = "changes to the scores of single tokens",
      .supported = false},
     nullptr,
     [](const OrderedJson& value) { return value.empty(); }},
};

#undef SACCADE_STORE_FLOAT
#undef SACCADE_STORE_INT

}  // namespace

Status ReadAnswerOptions(const OrderedJson& document, AnswerOptions& out) {
  SACCADE_RETURN_IF_ERROR(ReadFields<AnswerOptions>(document, kFields, out));
  if (const OrderedJson* options = FindMember(document, "stream_options")) {
    Status status = ReadFields<AnswerOptions>(*options, kStreamOptionFields, out);
    if (!status.ok()) return std::move(status).WithParam("stream_options");
  }
  return OkStatus();
}

Result<std::optional<double>> RequestTimeout(std::optional<double> field, std::string_view header) {
  if (header.empty()) return field;
  double seconds = 0;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), seconds);
  const bool number = error == std::errc() && end == header.data() + header.size();
  if (!number || !(seconds >= kMinTimeout && seconds <= kMaxTimeout)) {
    return InvalidArgument("the header x-request-timeout must be seconds from {} to {}", kMinTimeout,
                           kMaxTimeout)
        .WithParam("x-request-timeout");
  }
  return std::optional<double>(field ? std::min(*field, seconds) : seconds);
}

void AddAnswerOptionsSchema(OrderedJson& schema) {
  const OrderedJson fields = ObjectSchema<AnswerOptions>(kFields);
  for (const auto& [name, property] : fields["properties"].items()) schema["properties"][name] = property;
  schema["properties"]["stream_options"]["properties"] =
      ObjectSchema<AnswerOptions>(kStreamOptionFields)["properties"];
}

}  // namespace saccade
