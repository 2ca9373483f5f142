// Helpers of this layer's tests: golden files and hashes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
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

}  // namespace saccade::testing
