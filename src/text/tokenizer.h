// Byte-level BPE tokenizer read from a checkpoint's tokenizer.json: text to ids and back.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"
#include "text/tokenizer_file.h"
#include "text/vocabulary.h"

namespace saccade {

// Equal to the reference (Hugging Face tokenizers) for every valid UTF-8 text. Thread-safe after loading;
// calls share nothing but read-only tables. A default-constructed tokenizer is empty: it encodes nothing.
class Tokenizer {
 public:
  static Result<Tokenizer> Load(const std::filesystem::path& tokenizer_json);
  static Result<Tokenizer> Parse(std::string_view json_text);

  // Which added tokens Encode recognises when their spelling occurs in the text. Text from outside is encoded
  // with kNone: "<|im_end|>" typed by a user is text. The published special tokens are the control marks of
  // the chat format and the picture marks; non-special added tokens are those a model writes itself, such as
  // <think>.
  enum class AddedTokens : uint8_t { kNone, kNonSpecial, kAll };

  // Appends the ids of `text` to `out`. Bytes that are not UTF-8 are encoded as U+FFFD, one for each maximal
  // invalid part. Linear in time but for a factor log n within one pre-token.
  void Encode(std::string_view text, AddedTokens recognise, std::vector<int32_t>& out) const;

  // The next added token at or after `from`, by the same rules as Encode.
  std::optional<AddedTokenMatch> FindAddedToken(std::string_view text, size_t from,
                                                AddedTokens recognise) const;

  // The text of `ids`, always valid UTF-8: invalid parts of the joined bytes become U+FFFD. Ids without a
  // token (padding rows of the embedding) add nothing.
  std::string Decode(std::span<const int32_t> ids, bool skip_special) const;

  // The raw bytes of a token, possibly only a part of a character; empty for ids without a token.
  std::string_view TokenBytes(int32_t id) const { return vocabulary_.Bytes(id); }
  // The id of the token with exactly these bytes, added tokens included.
  std::optional<int32_t> IdOf(std::string_view token) const { return vocabulary_.Find(token); }
  bool IsSpecial(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < special_.size() && special_[static_cast<size_t>(id)];
  }
  // One more than the largest id that has a token. The embedding table may have more rows.
  int vocab_size() const { return vocabulary_.size(); }

 private:
  Status SetVocabulary(const TokenizerFile& file);
  Status SetMerges(const TokenizerFile& file);
  Status SetAddedTokens(const Json& list);
  void EncodeText(std::string_view text, std::vector<int32_t>& out) const;
  void EncodePiece(std::string_view piece, std::vector<int32_t>& out) const;

  Vocabulary vocabulary_;
  Bpe bpe_;
  Normalization normalization_ = Normalization::kNone;
  PreTokenizer pre_tokenizer_;
  AddedTokenFinder all_added_, non_special_added_;
  std::vector<bool> special_;   // by id
  bool ignore_merges_ = false;  // a pre-token that is a token itself is taken whole
};

}  // namespace saccade
