// Slots of KernelContext::SharedScratch: one per operation that keeps data across the threads of one call.
#pragma once

namespace saccade {

inline constexpr int kGemmScratch = 0;
inline constexpr int kAttentionScratch = 1;

}  // namespace saccade
