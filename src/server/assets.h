// The web page and the sample pictures: served from memory, with names that change when the content does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/embedded_files.h"
#include "server/router.h"

namespace saccade {

// Immutable and thread-safe. The page is at "/"; its scripts and styles are at "/assets/<hash>/<name>", where
// the hash covers them all, so that they may be cached for ever and still refer to each other by plain names.
class Assets {
 public:
  explicit Assets(const std::vector<EmbeddedFile>& files);

  // GET /, /assets/{path}, /examples/ and /examples/{file}. The routes refer to this object.
  void AddRoutes(Router& router) const;

  const std::string& hash() const { return hash_; }

 private:
  struct File {
    std::string name;  // "app.js", "chart.png"
    std::string_view bytes;
    std::string etag;
    std::string_view content_type;
  };
  static const File* Find(const std::vector<File>& files, std::string_view name);

  void ServePage(Exchange& exchange) const;
  void ServeAsset(Exchange& exchange) const;
  void ServeExampleList(Exchange& exchange) const;
  void ServeExample(Exchange& exchange) const;

  std::vector<File> web_, examples_;
  std::string hash_;
  std::string page_, page_etag_;
  std::string example_list_, example_list_etag_;
};

}  // namespace saccade
