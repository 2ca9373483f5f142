#include "server/chat_reply.h"

#include "base/utf8.h"

namespace saccade {
namespace {

// Microseconds are enough.
double Rounded(double ms) { return static_cast<double>(static_cast<int64_t>(ms * 1000 + 0.5)) / 1000; }

OrderedJson Envelope(const ReplyHead& head, std::string_view object) {
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

OrderedJson TokenEntry(int32_t token, float logprob, const TokenBytesFunction& token_bytes) {
  const std::string bytes = token_bytes(token);
  OrderedJson byte_list = OrderedJson::array();
  for (const char byte : bytes) byte_list.push_back(static_cast<uint8_t>(byte));
  return {{"token", ReplaceInvalidUtf8(bytes)}, {"logprob", logprob}, {"bytes", std::move(byte_list)}};
}

OrderedJson LogprobsMember(OrderedJson entries) {
  if (entries.is_null()) return nullptr;
  return {{"content", std::move(entries)}, {"refusal", nullptr}};
}

std::string Chunk(const ReplyHead& head, OrderedJson delta, OrderedJson logprobs, OrderedJson finish_reason,
                  OrderedJson timings) {
  OrderedJson chunk = Envelope(head, "chat.completion.chunk");
  chunk["choices"] = OrderedJson::array({{{"index", 0},
                                          {"delta", std::move(delta)},
                                          {"logprobs", LogprobsMember(std::move(logprobs))},
                                          {"finish_reason", std::move(finish_reason)}}});
  if (!timings.is_null()) chunk["timings_ms"] = std::move(timings);
  return DumpJson(chunk);
}

OrderedJson Delta(bool first) {
  return first ? OrderedJson{{"role", "assistant"}, {"content", ""}} : OrderedJson::object();
}

}  // namespace

std::string DumpJson(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson UsageJson(const RequestUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details",
           {{"cached_tokens", usage.cached_tokens}, {"image_tokens", usage.image_tokens}}}};
}

OrderedJson TimingsJson(const RequestTimings& timings) {
  return {{"decode_image", Rounded(timings.decode_image)},
          {"resize", Rounded(timings.resize)},
          {"queue", Rounded(timings.queue)},
          {"vision", Rounded(timings.vision)},
          {"prefill", Rounded(timings.prefill)},
          {"decode", Rounded(timings.decode)},
          {"first_token", Rounded(timings.first_token)}};
}

OrderedJson LogprobEntries(const std::vector<TokenLogprob>& logprobs, const TokenBytesFunction& token_bytes) {
  OrderedJson entries = OrderedJson::array();
  for (const TokenLogprob& logprob : logprobs) {
    OrderedJson entry = TokenEntry(logprob.token, logprob.logprob, token_bytes);
    OrderedJson top = OrderedJson::array();
    for (const auto& [token, value] : logprob.top) top.push_back(TokenEntry(token, value, token_bytes));
    entry["top_logprobs"] = std::move(top);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string CompletionJson(const ReplyHead& head, std::string_view text, OrderedJson logprobs,
                           const FinishedEvent& finished) {
  OrderedJson reply = Envelope(head, "chat.completion");
  reply["choices"] =
      OrderedJson::array({{{"index", 0},
                           {"message", {{"role", "assistant"}, {"content", text}, {"refusal", nullptr}}},
                           {"logprobs", LogprobsMember(std::move(logprobs))},
                           {"finish_reason", FinishReasonName(finished.reason)}}});
  reply["usage"] = UsageJson(finished.usage);
  reply["timings_ms"] = TimingsJson(finished.timings);
  return DumpJson(reply);
}

std::string TextChunkJson(const ReplyHead& head, std::string_view text, bool first, OrderedJson logprobs) {
  OrderedJson delta = Delta(first);
  delta["content"] = text;
  return Chunk(head, std::move(delta), std::move(logprobs), nullptr, nullptr);
}

std::string FinishChunkJson(const ReplyHead& head, bool first, const FinishedEvent& finished) {
  return Chunk(head, Delta(first), nullptr, FinishReasonName(finished.reason), TimingsJson(finished.timings));
}

std::string UsageChunkJson(const ReplyHead& head, const RequestUsage& usage) {
  OrderedJson chunk = Envelope(head, "chat.completion.chunk");
  chunk["choices"] = OrderedJson::array();
  chunk["usage"] = UsageJson(usage);
  return DumpJson(chunk);
}

}  // namespace saccade
