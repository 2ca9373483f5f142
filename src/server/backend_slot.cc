#include "server/backend_slot.h"

#include <utility>

namespace saccade {

void BackendSlot::Set(std::shared_ptr<ChatBackend> backend) {
  const std::lock_guard lock(mutex_);
  backend_ = std::move(backend);
}

void BackendSlot::SetNotReady(Status reason) {
  const std::lock_guard lock(mutex_);
  backend_ = nullptr;
  not_ready_ = std::move(reason);
}

std::shared_ptr<ChatBackend> BackendSlot::Get() const {
  const std::lock_guard lock(mutex_);
  return backend_;
}

Status BackendSlot::Ready() const {
  if (draining_) return Unavailable("the server is stopping");
  const std::lock_guard lock(mutex_);
  return backend_ ? OkStatus() : not_ready_;
}

EngineStats BackendSlot::Stats() const {
  const auto current = Get();
  return current ? current->Stats() : EngineStats();
}

Status CheckModel(std::string_view asked, const ModelCard& model) {
  if (asked == "default" || asked == model.id) return OkStatus();
  return NotFound("there is no model \"{}\" here; this server has \"{}\", also called \"default\"", asked,
                  model.id)
      .WithParam("model");
}

}  // namespace saccade
