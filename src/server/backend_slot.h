// Where routes find the model: the backend once it is loaded, and until then the reason why not.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "server/chat_backend.h"
#include "server/router.h"

namespace saccade {

// Thread-safe.
class BackendSlot {
 public:
  void Set(std::shared_ptr<ChatBackend> backend);
  // Until there is a backend: why requests are refused, for instance that loading the model failed.
  void SetNotReady(Status reason);
  // From now on new requests for the model are refused.
  void SetDraining() { draining_ = true; }

  // Null while there is none.
  std::shared_ptr<ChatBackend> Get() const;
  // OK when requests for the model are answered.
  Status Ready() const;
  EngineStats Stats() const;

 private:
  std::atomic<bool> draining_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<ChatBackend> backend_;
  Status not_ready_ = Unavailable("the model is still loading");
};

// kNotFound unless a request's "model" is this one or "default".
Status CheckModel(std::string_view asked, const ModelCard& model);

}  // namespace saccade
