// Large aligned memory for weights, caches and activations.
#pragma once

#include <cstddef>
#include <utility>

namespace saccade {

// Owns `size` zeroed bytes aligned to 64 (2 MiB from kHugePageBytes up, where huge pages are requested).
// Pages are not resident before they are touched. Allocation failure yields an empty buffer with ok() ==
// false.
class AlignedBuffer {
 public:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size);
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer();

  bool ok() const { return data_ != nullptr || size_ == 0; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  float* floats() { return reinterpret_cast<float*>(data_); }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A float array that only ever grows; its content is lost when it does. For activations reused step after
// step.
class GrowingFloats {
 public:
  // At least `count` floats; nullptr when memory is exhausted. data() is what the last Reserve returned.
  float* Reserve(size_t count) {
    if (count * sizeof(float) > buffer_.size()) buffer_ = AlignedBuffer(count * sizeof(float));
    return buffer_.floats();
  }
  float* data() { return buffer_.floats(); }
  size_t bytes() const { return buffer_.size(); }
  void Free() { buffer_ = AlignedBuffer(); }

 private:
  AlignedBuffer buffer_;
};

}  // namespace saccade
