// Helpers of this layer's tests: golden files and hashes.
#pragma once

#include <gtest/gtest.h>
#include <vips/vips.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/status_testing.h"
#include "image/image.h"

namespace saccade::testing {

inline std::filesystem::path GoldenPath(const std::string& name) {
  return std::filesystem::path(SACCADE_TEST_DATA) / "golden" / name;
}

// Content of tests/golden/<name>; fails the test when it is missing.
inline std::string GoldenFile(const std::string& name) {
  Result<std::string> content = ReadFile(GoldenPath(name), size_t{1} << 30);
  EXPECT_TRUE(content.ok()) << content.status().ToString();
  return content.ok() ? *content : std::string();
}

inline Json GoldenJson(const std::string& name) {
  Result<Json> json = ParseJson(GoldenFile(name));
  EXPECT_TRUE(json.ok()) << json.status().ToString();
  return json.ok() ? *json : Json();
}

inline std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

inline std::string HexOf(const std::vector<uint8_t>& bytes) {
  return ToHex(Sha256Of(std::as_bytes(std::span(bytes))));
}

// Every form of the loops that this machine can run, the oracle first.
inline std::vector<const PixelKernels*> UsablePixelKernels() {
  std::vector<const PixelKernels*> kernels = {&PlainPixelKernels()};
  if (DetectIsa() >= Isa::kAvx2 && Avx2PixelKernels() != nullptr) kernels.push_back(Avx2PixelKernels());
  return kernels;
}

// Names of the files in tests/golden/<folder>, sorted.
inline std::vector<std::string> GoldenNames(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenPath(folder))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The rules of a small checkpoint: its own limits, everything else as published.
inline PreprocessorConfig TinyConfig(const std::string& checkpoint) {
  const Json json = GoldenJson(checkpoint + "/preprocessor_config.json");
  PreprocessorConfig config;
  config.limits = {json.at("size").at("shortest_edge"), json.at("size").at("longest_edge")};
  return config;
}

// Writes pictures through libvips for tests that need forms the golden folder lacks. `pixels` holds
// interleaved samples of type T; `suffix` is ".png[...]" as libvips understands it. Empty when this libvips
// cannot write it.
template <class T>
std::string EncodeForTest(const std::vector<T>& pixels, int width, int height, int bands, const char* suffix,
                          int orientation = 0, VipsInterpretation interpretation = VIPS_INTERPRETATION_LAST) {
  SACCADE_EXPECT_OK(InitImageLibrary());
  const VipsBandFormat format = sizeof(T) == 1   ? VIPS_FORMAT_UCHAR
                                : sizeof(T) == 2 ? VIPS_FORMAT_USHORT
                                                 : VIPS_FORMAT_FLOAT;
  VipsImage* view =
      vips_image_new_from_memory(pixels.data(), pixels.size() * sizeof(T), width, height, bands, format);
  VipsImage* image = nullptr;
  if (interpretation == VIPS_INTERPRETATION_LAST) interpretation = vips_image_guess_interpretation(view);
  EXPECT_EQ(vips_copy(view, &image, "interpretation", interpretation, nullptr), 0);
  if (orientation != 0) {
    // libvips writes the tag into an EXIF block that exists already: here one without entries.
    constexpr char kEmptyExif[] = "Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0";
    vips_image_set_blob_copy(image, VIPS_META_EXIF_NAME, kEmptyExif, sizeof(kEmptyExif) - 1);
    vips_image_set_int(image, VIPS_META_ORIENTATION, orientation);
  }
  void* data = nullptr;
  size_t size = 0;
  std::string file;
  if (vips_image_write_to_buffer(image, suffix, &data, &size, nullptr) == 0) {
    file.assign(static_cast<const char*>(data), size);
    g_free(data);
  }
  vips_error_clear();
  g_object_unref(image);
  g_object_unref(view);
  return file;
}

}  // namespace saccade::testing
