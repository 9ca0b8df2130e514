// Walks a template's tree. Recursion is bounded by the tree's depth, everything else by steps.
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/gotemplate/functions.h"
#include "src/platform/gotemplate/template.h"

namespace kgpu::gotemplate {
namespace {

// The cost of an item of a list, in bytes: a step is a kilobyte.
constexpr size_t kReadItem = 16;
constexpr size_t kMadeItem = 512;

class Expander {
 public:
  Expander(const Tree& tree, const Value& data)
      : tree_(tree), limits_(tree.language->limits), slots_(tree.slots) {
    slots_[0] = data;
  }

  StatusOr<std::string> Expand() {
    dot_ = slots_[0];
    RETURN_IF_ERROR(Run(tree_.nodes).status());
    return std::move(out_);
  }

  size_t steps() const { return steps_; }

 private:
  // How the nodes after this one continue.
  enum class Flow : uint8_t { kOn, kBreak, kContinue };

  static Status At(const Place& place, const Status& status) {
    return Annotate(status, "line {}, column {}", place.line, place.column);
  }

  Status Step(const Place& place, size_t bytes = 0) {
    steps_ += 1 + bytes / 1024;
    return steps_ <= limits_.steps
               ? OkStatus()
               : At(place, OutOfRange("the template takes more than {} steps", limits_.steps));
  }

  Status Put(const Place& place, std::string_view text) {
    if (out_.size() + text.size() > limits_.output_bytes) {
      return At(place,
                OutOfRange("the template's output has more than {} bytes", limits_.output_bytes));
    }
    out_ += text;
    return OkStatus();
  }

  StatusOr<Flow> Run(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      RETURN_IF_ERROR(Step(node.place, node.text.size()));
      ASSIGN_OR_RETURN(const Flow flow, RunNode(node));
      if (flow != Flow::kOn) {
        return flow;
      }
    }
    return Flow::kOn;
  }

  StatusOr<Flow> RunNode(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kText:
        RETURN_IF_ERROR(Put(node.place, node.text));
        return Flow::kOn;
      case Node::Kind::kBreak:
        return Flow::kBreak;
      case Node::Kind::kContinue:
        return Flow::kContinue;
      case Node::Kind::kPrint:
      case Node::Kind::kSet:
      case Node::Kind::kIf:
      case Node::Kind::kRange:
      case Node::Kind::kWith:
        break;
    }
    ASSIGN_OR_RETURN(Value value, Evaluate(node.expression));
    if (node.kind == Node::Kind::kPrint) {
      const auto text = tree_.language->print(value);
      RETURN_IF_ERROR(At(node.place, text.status()));
      RETURN_IF_ERROR(Put(node.place, *text));
      return Flow::kOn;
    }
    if (node.kind == Node::Kind::kRange) {
      return RunRange(node, value);
    }
    const bool is_true = value.IsTrue();
    const Value outer = dot_;
    if (node.kind == Node::Kind::kWith && is_true) {
      dot_ = value;
    }
    if (node.value) {
      slots_[*node.value] = std::move(value);
    }
    if (node.kind == Node::Kind::kSet) {
      return Flow::kOn;
    }
    StatusOr<Flow> flow = Run(is_true ? node.body : node.otherwise);
    dot_ = outer;
    return flow;
  }

  StatusOr<Flow> RunRange(const Node& node, const Value& value) {
    const Value::List* list = value.if_list();
    const Value::Dict* dict = value.if_dict();
    if (list == nullptr && dict == nullptr && !value.is_nothing()) {
      return At(node.place,
                InvalidArgument("range over {}: must be a list or a map", value.KindName()));
    }
    // As Go: what is empty is the variables' value behind else.
    for (const auto& slot : {node.key, node.value}) {
      if (slot) {
        slots_[*slot] = value;
      }
    }
    if (!value.IsTrue()) {
      return Run(node.otherwise);
    }
    const Value outer = dot_;
    Flow flow = Flow::kOn;
    if (list != nullptr) {
      for (size_t i = 0; i < list->size() && flow != Flow::kBreak; ++i) {
        ASSIGN_OR_RETURN(flow, RunItem(node, Value(static_cast<int64_t>(i)), (*list)[i]));
      }
    } else {
      for (const auto& [key, item] : *dict) {
        ASSIGN_OR_RETURN(flow, RunItem(node, Value(key), item));
        if (flow == Flow::kBreak) {
          break;
        }
      }
    }
    dot_ = outer;
    return Flow::kOn;
  }

  StatusOr<Flow> RunItem(const Node& node, Value key, const Value& item) {
    RETURN_IF_ERROR(Step(node.place));
    dot_ = item;
    if (node.key) {
      slots_[*node.key] = std::move(key);
    }
    if (node.value) {
      slots_[*node.value] = item;
    }
    return Run(node.body);
  }

  StatusOr<Value> Evaluate(const Expression& expression) {
    RETURN_IF_ERROR(Step(expression.place));
    Value value;
    switch (expression.kind) {
      case Expression::Kind::kLiteral:
        value = expression.literal;
        break;
      case Expression::Kind::kDot:
        value = dot_;
        break;
      case Expression::Kind::kVariable:
        value = slots_[expression.slot];
        break;
      case Expression::Kind::kCall: {
        ASSIGN_OR_RETURN(value, Call(expression));
        break;
      }
    }
    for (const std::string& field : expression.fields) {
      StatusOr<Value> next = Field(value, field);
      RETURN_IF_ERROR(At(expression.place, next.status()));
      value = *std::move(next);
    }
    return value;
  }

  static StatusOr<Value> Field(const Value& value, const std::string& name) {
    const Value::Dict* dict = value.if_dict();
    if (dict == nullptr) {
      return InvalidArgument(".{} of {}: only maps have fields{}", name, value.KindName(),
                             value.if_list() != nullptr ? "; use range, first or index" : "");
    }
    const auto found = dict->find(name);
    if (found != dict->end()) {
      return found->second;
    }
    std::vector<std::string_view> names;
    for (const auto& [key, item] : *dict) {
      names.push_back(key);
    }
    const auto nearest = Nearest(name, names);
    return NotFound("no .{} here{}; index . \"{}\" returns \"\" if it is missing", name,
                    nearest ? fmt::format(", did you mean .{}?", Printable(*nearest, 60)) : "",
                    name);
  }

  StatusOr<Value> Call(const Expression& call) {
    const Function& function = *call.function;
    std::vector<Value> arguments;
    arguments.reserve(call.arguments.size());
    for (const Expression& argument : call.arguments) {
      ASSIGN_OR_RETURN(Value value, Evaluate(argument));
      const bool is_true = value.IsTrue();
      if ((function.stop == Function::Stop::kAtTrue && is_true) ||
          (function.stop == Function::Stop::kAtFalse && !is_true)) {
        return value;
      }
      RETURN_IF_ERROR(Step(call.place, Weight(value, kReadItem)));
      arguments.push_back(std::move(value));
    }
    StatusOr<Value> result = function.body(
        arguments,
        {.pattern = call.pattern ? &*call.pattern : nullptr, .most_bytes = limits_.output_bytes});
    if (result.status().code() == kEnds) {
      return result;
    }
    RETURN_IF_ERROR(At(call.place, Annotate(result.status(), "{}", function.name)));
    if (result->if_text() != nullptr && result->if_text()->size() > limits_.output_bytes) {
      return At(call.place,
                OutOfRange("{} produces more than {} bytes", function.name, limits_.output_bytes));
    }
    RETURN_IF_ERROR(Step(call.place, Weight(*result, kMadeItem)));
    return result;
  }

  // The cost for a function to read it, and the cost of making it, roughly in bytes.
  static size_t Weight(const Value& value, size_t per_item) {
    if (const std::string* text = value.if_text()) {
      return text->size();
    }
    const Value::List* list = value.if_list();
    return list != nullptr ? list->size() * per_item : 0;
  }

  const Tree& tree_;
  const Limits& limits_;
  std::vector<Value> slots_;
  Value dot_;
  std::string out_;
  size_t steps_ = 0;
};

}  // namespace

StatusOr<std::string> Template::Expand(const Value& data, size_t* steps) const {
  Expander expander(*tree_, data);
  StatusOr<std::string> text = expander.Expand();
  if (steps != nullptr) {
    *steps += expander.steps();
  }
  return text;
}

}  // namespace kgpu::gotemplate
