// The devices of a node and their users as items of a list.
#pragma once

#include <vector>

#include "src/cli/top/live_document.h"
#include "src/cli/top/node_layout.h"
#include "src/cli/top/tree.h"

namespace kgpu::top {

// In the document's order.
std::vector<Item> NodeItems(const LiveDocument& document, const ListState& state,
                            const NodeLayout& layout, const terminal::Look& look);

// "function hello", "ks/batch-7": who has borrowed a GPU.
std::string BorrowerText(const std::string& lent_to);

}  // namespace kgpu::top
