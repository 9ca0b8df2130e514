#include "src/node/config/selector_reader.h"

#include <boost/json.hpp>

#include <array>
#include <string>
#include <utility>

#include "src/node/config/selector_text.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 8> kFields = {"model", "uuid", "index",  "pci",
                                                     "numa",  "mig",  "memory", "compute"};

// One text or a list of them, each read by `parse`.
template <typename T>
void ReadTexts(const Node& node, StatusOr<T> (*parse)(std::string_view), std::vector<T>& out) {
  if (node.is_list() && node.size() == 0) {
    node.Error("is empty, which matches no device: add a condition, or remove it");
  }
  node.ForOneOrMany([&](const Node& item) {
    if (const auto text = item.String()) {
      if (auto value = item.Accept(parse(*text))) {
        out.push_back(*std::move(value));
      }
    }
  });
}

// Numbers and texts with ranges.
void ReadNumbers(const Node& node, std::vector<unsigned>& out) {
  if (node.is_list() && node.size() == 0) {
    node.Error("is empty, which matches no device: add a condition, or remove it");
  }
  node.ForOneOrMany([&out](const Node& item) {
    if (!item.is_string()) {
      if (const auto number = item.Number(0, kMaxIndex)) {
        out.push_back(static_cast<unsigned>(*number));
      }
      return;
    }
    const auto numbers = item.Accept(ParseNumbers(item.String().value_or("")));
    if (numbers && out.size() + numbers->size() > kMaxIndex + 1) {
      item.Error("more than {} numbers in a list", kMaxIndex + 1);
    } else if (numbers) {
      out.insert(out.end(), numbers->begin(), numbers->end());
    }
  });
}

void ReadField(std::string_view name, const Node& field, Selector& selector) {
  if (name == "model") {
    ReadTexts(field, &ParseModel, selector.models);
  } else if (name == "uuid") {
    ReadTexts(field, &ParseUuid, selector.uuids);
  } else if (name == "index") {
    ReadNumbers(field, selector.indices);
  } else if (name == "pci") {
    ReadTexts(field, &ParsePci, selector.pci);
  } else if (name == "numa") {
    ReadNumbers(field, selector.numa_nodes);
  } else if (name == "mig") {
    ReadTexts(field, &ParseMigProfile, selector.mig_profiles);
  } else if (name == "memory") {
    ReadTexts(field, &ParseMemoryBound, selector.memory);
  } else {
    ReadTexts(field, &ParseComputeBound, selector.compute);
  }
}

// One value is written as itself, several as a list.
void Put(json::object& fields, std::string_view name, const std::vector<std::string>& values) {
  const json::string_view key(name.data(), name.size());
  if (values.size() == 1) {
    fields[key] = values.front();
  } else if (!values.empty()) {
    fields[key] = json::array(values.begin(), values.end());
  }
}

void PutNumbers(json::object& fields, std::string_view name, const std::vector<unsigned>& numbers) {
  json::array items;
  for (const std::string& word : NumberWords(numbers)) {
    const auto number = ParseUint(word);
    items.push_back(number ? json::value(*number) : json::value(word));
  }
  if (!items.empty()) {
    fields[json::string_view(name.data(), name.size())] =
        items.size() == 1 ? items.front() : json::value(items);
  }
}

template <typename Bound>
std::vector<std::string> BoundTexts(const std::vector<Bound>& bounds) {
  std::vector<std::string> texts;
  texts.reserve(bounds.size());
  for (const Bound& bound : bounds) {
    texts.push_back(ToString(bound));
  }
  return texts;
}

}  // namespace

Selector ReadSelector(const Node& node) {
  Selector selector;
  if (node.is_string()) {
    if (node.String() != "all") {
      node.Error("{} must be all, or a map such as {{model: A100-SXM4-80GB}}", node.Shown());
    }
    return selector;
  }
  if (node.is_map() && node.size() == 0) {
    node.Error("is empty: write all, or a map such as {{model: A100-SXM4-80GB}}");
  }
  node.ForEachField(kFields, [&selector](std::string_view name, const Node& field) {
    ReadField(name, field, selector);
  });
  return selector;
}

json::value SelectorTree(const Selector& selector) {
  json::object fields;
  std::vector<std::string> addresses;
  addresses.reserve(selector.pci.size());
  for (const device::PciBusId& pci : selector.pci) {
    addresses.push_back(pci.str());
  }
  Put(fields, "model", selector.models);
  Put(fields, "uuid", selector.uuids);
  PutNumbers(fields, "index", selector.indices);
  Put(fields, "pci", addresses);
  PutNumbers(fields, "numa", selector.numa_nodes);
  Put(fields, "mig", selector.mig_profiles);
  Put(fields, "memory", BoundTexts(selector.memory));
  Put(fields, "compute", BoundTexts(selector.compute));
  if (fields.empty()) {
    return json::value("all");
  }
  return json::value(std::move(fields));
}

}  // namespace kgpu::config
