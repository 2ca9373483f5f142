#include "model/model.h"

#include "base/file.h"

namespace saccade {

Result<ModelConfig> LoadModelConfig(const std::filesystem::path& directory) {
  constexpr int64_t kMaxConfigBytes = 1 << 20;
  const std::filesystem::path path = directory / "config.json";
  SACCADE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxConfigBytes));
  Result<ModelConfig> config = ParseModelConfig(text);
  if (!config.ok()) return std::move(config).status().WithContext(path.string());
  return config;
}

Result<std::unique_ptr<const Model>> Model::Load(const std::filesystem::path& directory,
                                                 WeightType text_weights, WeightType vision_weights,
                                                 KernelContext& context) {
  SACCADE_ASSIGN_OR_RETURN(ModelConfig config, LoadModelConfig(directory));
  SACCADE_ASSIGN_OR_RETURN(WeightStore store, WeightStore::Open(directory));
  std::unique_ptr<Model> model(new Model(std::move(config), std::move(store)));
  model->text_weights_ = text_weights;
  model->vision_weights_ = vision_weights;
  WeightLoader vision_loader(context, model->store_, vision_weights);
  Result<VisionTower> vision = VisionTower::Load(vision_loader, model->config_.vision);
  if (!vision.ok()) return std::move(vision).status().WithContext(directory.string());
  model->vision_ = std::move(vision).value();
  WeightLoader text_loader(context, model->store_, text_weights);
  Result<TextDecoder> text = TextDecoder::Load(
      text_loader, model->config_.text, static_cast<int>(model->config_.vision.deepstack_layers.size()));
  if (!text.ok()) return std::move(text).status().WithContext(directory.string());
  model->text_ = std::move(text).value();
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace saccade
