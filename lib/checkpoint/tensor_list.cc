#include <algorithm>
#include <numeric>
#include <tuple>

#include "checkpoint/checkpoint.h"

namespace wdelta {

Result<std::vector<Tensor>> CollectTensors(std::span<const SafetensorsHeader> headers, const Layout& layout) {
  size_t count = 0;
  for (const SafetensorsHeader& header : headers) count += header.tensor_count();
  std::vector<Tensor> tensors;
  tensors.reserve(count);
  for (uint32_t shard = 0; shard < headers.size(); ++shard) {
    const SafetensorsHeader& header = headers[shard];
    for (size_t i = 0; i < header.tensor_count(); ++i) {
      const TensorEntry entry = header.tensor(i);
      tensors.push_back(
          {entry.name, entry.shape, header.bytes().size() + entry.begin, entry.end - entry.begin, shard, entry.dtype});
    }
  }
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].name != tensors[i - 1].name) continue;
    const std::string name(tensors[i].name);
    return Error{ErrorKind::kIntegrity, "tensor '" + name + "' is in two shards: '" +
                                            layout.shards[tensors[i - 1].shard].path + "' and '" +
                                            layout.shards[tensors[i].shard].path + "'"}
        .OfTensor(name);
  }
  return tensors;
}

std::vector<uint32_t> FileOrder(std::span<const Tensor> tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Tensor &x = tensors[a], &y = tensors[b];
    return std::tie(x.shard, x.offset, x.bytes, a) < std::tie(y.shard, y.offset, y.bytes, b);
  });
  return order;
}

const Tensor* FindTensor(std::span<const Tensor> tensors, std::string_view name) {
  const auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                                   [](const Tensor& tensor, std::string_view key) { return tensor.name < key; });
  return at != tensors.end() && at->name == name ? &*at : nullptr;
}

}  // namespace wdelta
