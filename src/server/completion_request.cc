#include "server/completion_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace saccade {
namespace {

constexpr int kMaxPrompts = 16;
// What OpenAI's API does when nothing is said.
constexpr int kDefaultMaxTokens = 16;
constexpr double kMaxLogprobs = 20;

bool IsEmptyText(const OrderedJson& value) { return value == ""; }
bool IsOne(const OrderedJson& value) { return value == 1; }

constexpr Field<CompletionRequest> kFields[] = {
    {{.name = "prompt",
      .help = "the text to go on from: a string, a list of strings, a list of token ids, or a list of these",
      .required = true}},
    {{.name = "logprobs",
      .type = FieldType::kInt,
      .help = "log probabilities of the answer's tokens with this many alternatives",
      .min = 0,
      .max = kMaxLogprobs},
     [](CompletionRequest& out, const OrderedJson& value) { out.logprobs = value.get<int>(); }},
    {{.name = "echo", .type = FieldType::kBool, .help = "sending the prompt back", .supported = false},
     nullptr,
     IsFalse},
    {{.name = "suffix",
      .type = FieldType::kString,
      .help = "text that follows the answer",
      .supported = false},
     nullptr,
     IsEmptyText},
    {{.name = "best_of",
      .type = FieldType::kInt,
      .help = "more answers than are returned",
      .supported = false},
     nullptr,
     IsOne},
};

bool IsTokenList(const OrderedJson& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

Status AddPrompt(const OrderedJson& value, const std::string& name, CompletionRequest& request) {
  if (request.prompts.size() >= kMaxPrompts) {
    return InvalidArgument("prompt has more than {} entries", kMaxPrompts).WithParam("prompt");
  }
  if (value.is_string()) {
    if (value.get_ref<const std::string&>().empty())
      return InvalidArgument("{} is empty; there is nothing to go on from", name).WithParam(name);
    request.prompts.emplace_back(value.get<std::string>());
    return OkStatus();
  }
  if (!IsTokenList(value))
    return InvalidArgument("{} must be a string or a list of token ids", name).WithParam(name);
  SACCADE_ASSIGN_OR_RETURN(std::vector<int32_t> tokens, ReadTokenList(value, name));
  request.prompts.emplace_back(std::move(tokens));
  return OkStatus();
}

}  // namespace

Result<std::vector<int32_t>> ReadTokenList(const OrderedJson& value, std::string_view name) {
  if (!value.is_array()) return InvalidArgument("{} must be a list of token ids", name).WithParam(name);
  std::vector<int32_t> tokens;
  tokens.reserve(value.size());
  for (const OrderedJson& token : value) {
    const bool whole = token.is_number_integer();
    if (!whole || token.get<double>() < 0 || token.get<double>() > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("{} must be a list of token ids; entry {} is not one", name, tokens.size())
          .WithParam(name);
    }
    tokens.push_back(token.get<int32_t>());
  }
  return tokens;
}

Result<CompletionRequest> ParseCompletionRequest(std::string_view body) {
  auto parsed = ParseOrderedJson(body);
  if (!parsed.ok()) return std::move(parsed).status().WithContext("the request body is not valid JSON");
  const OrderedJson& document = *parsed;
  if (!document.is_object()) return InvalidArgument("the request body must be a JSON object");
  CompletionRequest request;
  request.generation.max_tokens = kDefaultMaxTokens;
  SACCADE_RETURN_IF_ERROR(ReadFields<CompletionRequest>(document, kFields, request));
  SACCADE_RETURN_IF_ERROR(ReadAnswerOptions(document, request));
  request.generation.top_logprobs = request.logprobs;
  const OrderedJson& prompt = *FindMember(document, "prompt");
  if (prompt.is_array() && !IsTokenList(prompt)) {
    for (size_t i = 0; i < prompt.size(); ++i)
      SACCADE_RETURN_IF_ERROR(AddPrompt(prompt[i], fmt::format("prompt[{}]", i), request));
  } else {
    SACCADE_RETURN_IF_ERROR(AddPrompt(prompt, "prompt", request));
  }
  const int answers = static_cast<int>(request.prompts.size()) * request.choices;
  if (answers == 0) return InvalidArgument("prompt is an empty list").WithParam("prompt");
  if (answers > kMaxChoices) {
    return InvalidArgument("the request asks for {} answers, the limit is {}", answers, kMaxChoices)
        .WithParam("n");
  }
  return request;
}

OrderedJson CompletionRequestSchema() {
  OrderedJson schema = ObjectSchema<CompletionRequest>(kFields);
  const OrderedJson text = {{"type", "string"}, {"minLength", 1}};
  const OrderedJson tokens = {
      {"type", "array"}, {"minItems", 1}, {"items", {{"type", "integer"}, {"minimum", 0}}}};
  const OrderedJson list = {{"type", "array"},
                            {"minItems", 1},
                            {"maxItems", kMaxPrompts},
                            {"items", {{"anyOf", OrderedJson::array({text, tokens})}}}};
  schema["properties"]["prompt"]["anyOf"] = OrderedJson::array({text, tokens, list});
  AddAnswerOptionsSchema(schema);
  return schema;
}

}  // namespace saccade
