// The meaning is that of NFD's matcher, with one exception: a value that cannot be compared does
// not undo the rule, it only does not match. There it undoes the rule, or not, depending on which
// expression happens to be looked at first.
#include "src/node/labels/term_match.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "src/platform/base/strings.h"

namespace kgpu::labels {

using gotemplate::Value;

namespace {

using Outcome = MatchExpression::Outcome;

Element ElementOf(const features::Attributes& attributes, const std::string& key) {
  const auto found = attributes.find(key);
  if (found == attributes.end()) {
    return {};
  }
  return {.exists = true, .value = found->second};
}

bool IsMet(const KeyExpression& expression, const Element& element) {
  return expression.match.Match(element) == Outcome::kYes;
}

class Matcher {
 public:
  Matcher(const FeatureTerm& term, const FeatureView& features, bool with_elements,
          size_t most_work)
      : term_(term),
        flags_(features.FindFlags(term.lookup)),
        attributes_(features.FindAttributes(term.lookup)),
        instances_(features.FindInstances(term.lookup)),
        with_elements_(with_elements),
        most_work_(most_work) {}

  TermAnswer Answer() && {
    const bool is_there = flags_ != nullptr || attributes_ != nullptr || instances_ != nullptr;
    TermAnswer answer;
    answer.is_met = is_there && (!term_.expressions || MeetsExpressions(*term_.expressions)) &&
                    (!term_.name || MeetsName(*term_.name)) && work_ <= most_work_;
    answer.work = work_;
    if (answer.is_met) {
      answer.elements = std::move(elements_);
    }
    return answer;
  }

 private:
  bool Holds(const MatchExpression& match, const Element& element) {
    work_ += match.Work(element);
    return match.Match(element) == Outcome::kYes;
  }

  // Flags and attributes of one feature count together; instances for themselves.
  bool MeetsExpressions(const std::vector<KeyExpression>& expressions) {
    const bool has_named = flags_ != nullptr || attributes_ != nullptr;
    const bool by_names =
        has_named && std::ranges::all_of(expressions, [this](const KeyExpression& expression) {
          return MeetsNamed(expression);
        });
    if (!by_names) {
      elements_.clear();
    }
    SortByName(0);
    const bool by_instances = TakeInstances([&](const features::Attributes& one) {
      return std::ranges::all_of(expressions, [&](const KeyExpression& expression) {
        return Holds(expression.match, ElementOf(one, expression.key));
      });
    });
    return by_instances || by_names;
  }

  bool MeetsNamed(const KeyExpression& expression) {
    const MatchExpression& match = expression.match;
    const bool in_flags =
        flags_ != nullptr &&
        Holds(match, {.exists = flags_->contains(expression.key), .value = std::nullopt});
    const Element attribute =
        attributes_ != nullptr ? ElementOf(*attributes_, expression.key) : Element();
    const bool in_attributes = attributes_ != nullptr && Holds(match, attribute);
    // A key that must not exist must be in neither.
    if (expression.match.op() == Op::kDoesNotExist &&
        ((flags_ != nullptr && !in_flags) || (attributes_ != nullptr && !in_attributes))) {
      return false;
    }
    if (in_flags) {
      TakeFlag(expression.key);
    }
    if (in_attributes) {
      TakeAttribute(expression.key, std::string(attribute.value.value_or("")));
    }
    return in_flags || in_attributes;
  }

  bool MeetsName(const MatchExpression& match) {
    const auto is_hit = [&](std::string_view name) {
      return work_ <= most_work_ && Holds(match, {.exists = true, .value = name});
    };
    const size_t before = elements_.size();
    bool is_met = false;
    if (flags_ != nullptr) {
      for (const std::string& name : *flags_) {
        if (is_hit(name)) {
          is_met = true;
          TakeFlag(name);
        }
      }
    }
    if (attributes_ != nullptr) {
      for (const auto& [name, value] : *attributes_) {
        if (is_hit(name)) {
          is_met = true;
          TakeAttribute(name, value);
        }
      }
    }
    SortByName(before);
    const bool by_instances = TakeInstances([&](const features::Attributes& one) {
      return std::ranges::any_of(one,
                                 [&](const auto& attribute) { return is_hit(attribute.first); });
    });
    return by_instances || is_met;
  }

  template <typename Wanted>
  bool TakeInstances(const Wanted& is_wanted) {
    bool is_met = false;
    const size_t count = instances_ == nullptr ? 0 : instances_->size();
    for (size_t i = 0; i < count && work_ <= most_work_; ++i) {
      if (is_wanted((*instances_)[i])) {
        is_met = true;
        if (!with_elements_) {
          break;
        }
        Value::Dict element;
        for (const auto& [name, value] : (*instances_)[i]) {
          element.emplace_hint(element.end(), name, Value(value));
        }
        elements_.emplace_back(std::move(element));
      }
    }
    return is_met;
  }

  void TakeFlag(const std::string& name) {
    if (with_elements_) {
      elements_.emplace_back(Value::Dict{{"Name", Value(name)}});
    }
  }
  void TakeAttribute(const std::string& name, const std::string& value) {
    if (with_elements_) {
      elements_.emplace_back(Value::Dict{{"Name", Value(name)}, {"Value", Value(value)}});
    }
  }

  // Flags and attributes: each has a name.
  void SortByName(size_t from) {
    std::ranges::stable_sort(elements_.begin() + static_cast<std::ptrdiff_t>(from), elements_.end(),
                             {}, [](const Value& element) -> const std::string& {
                               return *element.if_dict()->find("Name")->second.if_text();
                             });
  }

  const FeatureTerm& term_;
  const features::Flags* flags_;
  const features::Attributes* attributes_;
  const features::Instances* instances_;
  bool with_elements_;
  size_t most_work_;
  size_t work_ = 0;
  Value::List elements_;
};

std::string Missing(const FeatureTerm& term, const FeatureView& features) {
  const std::vector<std::string> names = features.Names();
  const auto nearest = Nearest(term.lookup, {names.begin(), names.end()});
  return fmt::format("{}: this node has no such feature{}", Printable(term.feature, 60),
                     nearest ? fmt::format(", did you mean {}?", Printable(*nearest, 60)) : "");
}

std::string WhyNoInstance(const std::vector<KeyExpression>& expressions,
                          const features::Instances& instances) {
  if (instances.empty()) {
    return "there are none";
  }
  std::vector<std::string> counts;
  for (const KeyExpression& expression : expressions) {
    const auto count = std::ranges::count_if(instances, [&](const features::Attributes& one) {
      return IsMet(expression, ElementOf(one, expression.key));
    });
    counts.push_back(fmt::format("{} {} ({} of {})", Printable(expression.key, 60),
                                 expression.match.Text(), count, instances.size()));
  }
  return fmt::format("none matches {}{}", counts.size() > 1 ? "all of " : "", Join(counts, ", "));
}

std::string WhyNoNamed(const KeyExpression& expression, const features::Flags* flags,
                       const features::Attributes* attributes) {
  const Element attribute =
      attributes != nullptr ? ElementOf(*attributes, expression.key) : Element();
  const std::string key = Printable(expression.key, 60);
  if (attribute.value) {
    return fmt::format("{} is \"{}\", which does not match {}{}", key,
                       Printable(*attribute.value, 60), expression.match.Text(),
                       expression.match.Match(attribute) == Outcome::kNotComparable
                           ? ": it has another type"
                           : "");
  }
  if (flags != nullptr && flags->contains(expression.key)) {
    return fmt::format("{} is a flag without a value, which does not match {}", key,
                       expression.match.Text());
  }
  return fmt::format("no {}", key);
}

std::string WhyNoExpressions(const std::vector<KeyExpression>& expressions, const FeatureTerm& term,
                             const FeatureView& features) {
  const features::Flags* flags = features.FindFlags(term.lookup);
  const features::Attributes* attributes = features.FindAttributes(term.lookup);
  const features::Instances* instances = features.FindInstances(term.lookup);
  if (flags == nullptr && attributes == nullptr && instances != nullptr) {
    return WhyNoInstance(expressions, *instances);
  }
  FeatureTerm part{.feature = term.feature, .lookup = term.lookup, .expressions = {}, .name = {}};
  for (const KeyExpression& expression : expressions) {
    part.expressions = {{expression}};
    if (!MatchTerm(part, features, /*with_elements=*/false).is_met) {
      return WhyNoNamed(expression, flags, attributes);
    }
  }
  return "no flag, attribute or instance matches all its expressions";
}

}  // namespace

TermAnswer MatchTerm(const FeatureTerm& term, const FeatureView& features, bool with_elements,
                     size_t most_work) {
  return Matcher(term, features, with_elements, most_work).Answer();
}

std::string WhyNot(const FeatureTerm& term, const FeatureView& features) {
  if (!features.Has(term.lookup)) {
    return Missing(term, features);
  }
  FeatureTerm part = term;
  part.name.reset();
  const bool meets_expressions = MatchTerm(part, features, /*with_elements=*/false).is_met;
  std::string why;
  if (meets_expressions && term.name) {
    why = fmt::format("no name matches {}", term.name->Text());
  } else if (!meets_expressions && term.expressions) {
    why = WhyNoExpressions(*term.expressions, term, features);
  }
  return fmt::format("{}: {}", Printable(term.feature, 60), why);
}

}  // namespace kgpu::labels
