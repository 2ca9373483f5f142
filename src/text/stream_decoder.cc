#include "text/stream_decoder.h"

#include "base/utf8.h"

namespace saccade {

std::string StreamDecoder::Push(int32_t id) {
  std::string text;
  if (skip_special_ && tokenizer_->IsSpecial(id)) return text;
  pending_ += tokenizer_->TokenBytes(id);
  DrainUtf8(pending_, text);
  return text;
}

std::string StreamDecoder::Flush() {
  std::string text;
  if (!pending_.empty()) AppendUtf8(kReplacementCharacter, text);
  pending_.clear();
  return text;
}

}  // namespace saccade
