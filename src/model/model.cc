#include "model/model.h"

#include "model/weight_source.h"

namespace saccade {

namespace fs = std::filesystem;

Result<ModelConfig> LoadModelConfig(const FileSet& files) {
  constexpr size_t kMaxConfigBytes = size_t{1} << 20;
  SACCADE_ASSIGN_OR_RETURN(const std::string text, files.Read("config.json", kMaxConfigBytes));
  Result<ModelConfig> config = ParseModelConfig(text);
  if (!config.ok()) return std::move(config).status().WithContext(files.Where("config.json"));
  return config;
}

Status Model::LoadParts(WeightSource& source) {
  WeightLoader vision_loader(source, types_.vision), text_loader(source, types_.text);
  SACCADE_ASSIGN_OR_RETURN(vision_, VisionTower::Load(vision_loader, config_.vision));
  SACCADE_ASSIGN_OR_RETURN(
      text_,
      TextDecoder::Load(text_loader, config_.text, static_cast<int>(config_.vision.deepstack_layers.size())));
  return OkStatus();
}

Status Model::OpenFolder(const fs::path& folder, const WeightOptions& options, KernelContext& context) {
  types_ = options.types;
  files_ = std::make_unique<FolderFiles>(folder);
  SACCADE_ASSIGN_OR_RETURN(config_, LoadModelConfig(*files_));
  SACCADE_ASSIGN_OR_RETURN(packed_, OpenOrBuildWeightFile(folder, options, context, origin_));
  if (packed_) {
    PackFileSource source(*packed_);
    return LoadParts(source);
  }
  SACCADE_ASSIGN_OR_RETURN(store_, WeightStore::Open(folder));
  CheckpointSource source(context, *store_, nullptr);
  return LoadParts(source);
}

Status Model::OpenFile(const fs::path& path, KernelContext& context) {
  SACCADE_ASSIGN_OR_RETURN(packed_, OpenWeightFile(path, context.pool()));
  SACCADE_ASSIGN_OR_RETURN(types_, WeightTypesOf(*packed_));
  files_ = std::make_unique<PackedFiles>(*packed_);
  SACCADE_ASSIGN_OR_RETURN(config_, LoadModelConfig(*files_));
  origin_ = {WeightOrigin::Kind::kMapped, path, ""};
  PackFileSource source(*packed_);
  return LoadParts(source);
}

Result<std::unique_ptr<const Model>> Model::Load(const fs::path& source, const WeightOptions& options,
                                                 KernelContext& context) {
  std::unique_ptr<Model> model(new Model);
  std::error_code ignored;
  const Status status = fs::is_regular_file(source, ignored) ? model->OpenFile(source, context)
                                                             : model->OpenFolder(source, options, context);
  if (!status.ok()) return Status(status).WithContext(source.string());
  return std::unique_ptr<const Model>(std::move(model));
}

}  // namespace saccade
