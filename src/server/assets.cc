#include "server/assets.h"

#include "base/sha256.h"
#include "server/error_reply.h"

namespace saccade {
namespace {

// Only what the page itself brings may run or load; nothing inline, no other host, no frame around it.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr std::string_view kPlaceholder = "@ASSETS@";
constexpr size_t kHashDigits = 16;

std::string_view ContentType(std::string_view name) {
  const std::string_view suffix = name.substr(name.rfind('.') + 1);
  if (suffix == "html") return "text/html; charset=utf-8";
  if (suffix == "js") return "text/javascript; charset=utf-8";
  if (suffix == "css") return "text/css; charset=utf-8";
  if (suffix == "svg") return "image/svg+xml";
  if (suffix == "png") return "image/png";
  if (suffix == "jpg") return "image/jpeg";
  if (suffix == "webp") return "image/webp";
  if (suffix == "json") return "application/json";
  return "application/octet-stream";
}

std::string ShortHash(std::string_view bytes) { return ToHex(Sha256Of(bytes)).substr(0, kHashDigits); }

std::string Quoted(std::string_view hash) { return "\"" + std::string(hash) + "\""; }

// True when one of the tags in If-None-Match is this one; a proxy may have weakened it.
bool Matches(std::string_view if_none_match, std::string_view etag) {
  return if_none_match == "*" || if_none_match.find(etag) != std::string_view::npos;
}

void Serve(Exchange& exchange, std::string_view bytes, std::string_view etag, std::string_view content_type,
           std::string_view cache, bool document) {
  HttpResponse response;
  response.headers.emplace_back("etag", etag);
  response.headers.emplace_back("cache-control", cache);
  response.headers.emplace_back("referrer-policy", "no-referrer");
  response.headers.emplace_back("cross-origin-resource-policy", "same-origin");
  if (document) {
    response.headers.emplace_back("content-security-policy", kContentSecurityPolicy);
    response.headers.emplace_back("cross-origin-opener-policy", "same-origin");
    response.headers.emplace_back("x-frame-options", "DENY");
    response.headers.emplace_back("permissions-policy", "camera=(self), microphone=(), geolocation=()");
  }
  if (Matches(exchange.request().Header("if-none-match"), etag)) {
    response.status = 304;
  } else {
    response.content_type = content_type;
    response.static_body = bytes;
  }
  exchange.Send(std::move(response));
}

constexpr std::string_view kRevalidate = "no-cache";
constexpr std::string_view kForEver = "public, max-age=31536000, immutable";

}  // namespace

Assets::Assets(const std::vector<EmbeddedFile>& files) {
  std::string all;
  OrderedJson names = OrderedJson::array(), questions = nullptr;
  std::string_view page;
  for (const EmbeddedFile& file : files) {
    const size_t slash = file.name.find('/');
    const std::string_view folder = file.name.substr(0, slash), name = file.name.substr(slash + 1);
    const std::string hash = ShortHash(file.bytes);
    if (name == "questions.json") {
      // A file that is not JSON costs the suggestions, not the server.
      if (auto parsed = ParseOrderedJson(file.bytes); parsed.ok()) questions = std::move(*parsed);
    } else if (name == "index.html") {
      page = file.bytes;
    } else {
      (folder == "web" ? web_ : examples_)
          .push_back({std::string(name), file.bytes, Quoted(hash), ContentType(name)});
      if (folder == "web") all += hash;
      if (folder != "web") names.push_back(std::string(name));
    }
  }
  hash_ = ShortHash(all);
  page_ = page;
  for (size_t at; (at = page_.find(kPlaceholder)) != std::string::npos;) {
    page_.replace(at, kPlaceholder.size(), hash_);
  }
  page_etag_ = Quoted(ShortHash(page_));
  example_list_ = OrderedJson{{"pictures", std::move(names)}, {"questions", std::move(questions)}}.dump();
  example_list_etag_ = Quoted(ShortHash(example_list_));
}

const Assets::File* Assets::Find(const std::vector<File>& files, std::string_view name) {
  for (const File& file : files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

void Assets::AddRoutes(Router& router) const {
  router.AddOpen({"GET", "/", [this](auto exchange) { ServePage(*exchange); }});
  router.AddOpen({"GET", "/assets/{path}", [this](auto exchange) { ServeAsset(*exchange); }});
  router.AddOpen({"GET", "/examples/", [this](auto exchange) { ServeExampleList(*exchange); }});
  router.AddOpen({"GET", "/examples/{file}", [this](auto exchange) { ServeExample(*exchange); }});
}

void Assets::ServePage(Exchange& exchange) const {
  Serve(exchange, page_, page_etag_, "text/html; charset=utf-8", kRevalidate, true);
}

void Assets::ServeAsset(Exchange& exchange) const {
  const std::string& path = exchange.request().path_tail;
  const size_t slash = path.find('/');
  const File* file =
      slash == std::string::npos ? nullptr : Find(web_, std::string_view(path).substr(slash + 1));
  if (file == nullptr) {
    exchange.Send(ErrorReply(NotFound("there is no asset {}", path)));
    return;
  }
  // An old page may still ask for names of the version before; it gets what there is, but not for ever.
  const bool current = std::string_view(path).substr(0, slash) == hash_;
  Serve(exchange, file->bytes, file->etag, file->content_type, current ? kForEver : kRevalidate, false);
}

void Assets::ServeExampleList(Exchange& exchange) const {
  Serve(exchange, example_list_, example_list_etag_, "application/json", kRevalidate, false);
}

void Assets::ServeExample(Exchange& exchange) const {
  const File* file = Find(examples_, exchange.request().path_tail);
  if (file == nullptr) {
    exchange.Send(ErrorReply(NotFound("there is no sample picture {}", exchange.request().path_tail)));
    return;
  }
  Serve(exchange, file->bytes, file->etag, file->content_type, kRevalidate, false);
}

}  // namespace saccade
