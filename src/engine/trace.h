// The tensors of every stage of one conversation, under the names of the reference files, so that anybody can
// compare a checkpoint with the reference implementation.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/checkpoint.h"
#include "engine/request.h"
#include "kernels/kernels.h"

namespace saccade {

struct TraceTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};
using Trace = std::map<std::string, TraceTensor>;

// Runs the conversation alone, without the engine thread, greedily for `max_tokens` steps whatever token
// comes:
//   input_ids, image_grid_thw, pixel_values, position_ids [3, tokens], rope_delta: before the model
//   vision.merged, vision.deepstack.N: the pictures one after the other
//   hidden.1 (layer 0, before the DeepStack addition), hidden.LAST (after the final norm), logits: last 8
//   positions greedy_ids, greedy_margin (best minus second logit)
Result<Trace> TraceConversation(const Checkpoint& checkpoint, const ChatInput& input, int64_t max_tokens,
                                KvType kv, KernelContext& context);

// Writes the tensors as one safetensors file.
Status WriteTrace(const std::filesystem::path& path, const Trace& trace);

}  // namespace saccade
