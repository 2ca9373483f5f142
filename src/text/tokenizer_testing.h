// A small tokenizer.json made in memory, for tests. Included by tests only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/byte_level.h"
#include "text/tokenizer.h"

namespace saccade::testing {

inline std::string Spell(std::string_view bytes) {
  std::string spelling;
  for (const char c : bytes) spelling += SpellByte(static_cast<uint8_t>(c));
  return spelling;
}

// Ids 0 to 255 are the bytes, then one id per merge (whose parts must be tokens by then), then the added
// tokens:
// <|im_start|>, <|im_end|>, <|vision_start|>, <|vision_end|>, <|image_pad|>, <|video_pad|> special; <think>,
// </think>, <tool_call>, </tool_call> not.
inline Json SmallTokenizerJson(const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  Json vocab = Json::object();
  Json merge_list = Json::array();
  int id = 0;
  for (; id < 256; ++id) vocab[SpellByte(static_cast<uint8_t>(id))] = id;
  for (const auto& [left, right] : merges) {
    vocab[Spell(left + right)] = id++;
    merge_list.push_back(Spell(left) + " " + Spell(right));
  }
  Json added = Json::array();
  const auto add = [&](const char* content, bool special) {
    added.push_back({{"id", id++}, {"content", content}, {"special", special}, {"normalized", false}});
  };
  for (const char* mark : {"<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>",
                           "<|image_pad|>", "<|video_pad|>"}) {
    add(mark, true);
  }
  for (const char* mark : {"<think>", "</think>", "<tool_call>", "</tool_call>"}) add(mark, false);
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const char* pattern = "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+";
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"added_tokens", added},
          {"normalizer", {{"type", "NFC"}}},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}}},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merge_list}}}};
}

inline std::vector<int32_t> Encoded(const Tokenizer& tokenizer, std::string_view text,
                                    Tokenizer::AddedTokens recognise = Tokenizer::AddedTokens::kNone) {
  std::vector<int32_t> ids;
  tokenizer.Encode(text, recognise, ids);
  return ids;
}

}  // namespace saccade::testing
