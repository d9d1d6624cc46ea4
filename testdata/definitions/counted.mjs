// Which nodes of a parser a reader of the language would call a definition.
//
// These are classes and other types, functions and methods (those in classes without a
// name, in object literals that are the value of a name, and those that a statement
// assigns to a member too), members of types that have a name, constants and variables
// outside of functions, macros, and in JavaScript and TypeScript variables in functions whose
// value is a function. These are none: other variables in functions, imports, packages, parameters,
// properties that are no function, functions that are the argument of a call, and members
// whose name is computed, as [0].

const functions = new Set(`function_declaration function_expression function_definition function_item generator_function
  generator_function_declaration arrow_function method_definition method singleton_method method_declaration constructor_declaration
  compact_constructor_declaration func_literal closure_expression lambda_expression`.split(/\s+/));
const bodies = /class_body|class_declaration|interface_body|enum_body|^class$|^module$|class_specifier|struct_specifier/;
const types = /struct_item|union_item|struct_specifier|union_specifier|class_specifier|type_spec|class_declaration|interface_declaration|enum_declaration|record_declaration/;
const values = /^(arrow_function|function_expression|function|generator_function|class)$/;

const isFunction = (node) => Boolean(node && values.test(node.type));

export function* ancestors(node) {
  for (let outer = node.parent; outer; outer = outer.parent) yield outer;
}

function isInFunction(node) {
  for (const outer of ancestors(node)) {
    if (functions.has(outer.type)) return true;
    if (bodies.test(outer.type)) return false;
  }
  return false;
}

/** Whether an object literal is the value of something that has a name. */
function isNamedObject({ parent }) {
  if (!parent) return false;
  if (parent.type === 'pair') return isNamedObject(parent.parent);
  if (/satisfies_expression|as_expression|parenthesized_expression/.test(parent.type)) return isNamedObject(parent);
  return /variable_declarator|assignment_expression|export_statement|field_definition/.test(parent.type);
}

/** Whether a member is directly in a type that has a name. */
function isInNamedType(node) {
  for (const outer of ancestors(node)) {
    if (types.test(outer.type)) {
      if (!outer.childForFieldName('name')) return false;
      const type = outer.childForFieldName('type'); // of Go
      return !type || [node.parent.id, node.parent.parent?.id].includes(type.id);
    }
    if (outer.type === 'enum_variant' || functions.has(outer.type)) return false;
  }
  return false;
}

function isCountedVariable(node) {
  const declarators = node.namedChildren.filter((child) => child.type === 'variable_declarator');
  if (declarators.length === 1 && isFunction(declarators[0].childForFieldName('value'))) return true;
  const around = node.parent.type === 'export_statement' ? node.parent.parent : node.parent;
  return /^(program|ambient_declaration)$/.test(around.type) || around.parent?.type === 'internal_module';
}

function isCountedC({ name, node }) {
  if (/^(void|int|char|long|double|size_t|unsigned)$/.test(name)) return false; // the parser takes the type for the name of void (name)(int)
  return !(node.type === 'function_definition' && /^[A-Z][A-Z0-9_]+$/.test(name) && !node.childForFieldName('type')); // a macro with a block
}

export function isCounted(definition, language) {
  const { name, node } = definition;
  if (!node) return !definition.local; // of Python
  if (name.startsWith('[')) return false;
  if ((language === 'C' || language === 'C++') && !isCountedC(definition)) return false;
  switch (node.type) {
    case 'lexical_declaration': case 'variable_declaration': return isCountedVariable(node);
    case 'pair': return /^[\w$]+$/.test(name) && isFunction(node.childForFieldName('value')) && isNamedObject(node.parent);
    case 'method_definition': return node.parent.type !== 'object' || isNamedObject(node.parent);
    case 'property_signature': case 'method_signature': return node.parent.type === 'interface_body';
    case 'declaration': return !isInFunction(node) && !/for_statement|compound_statement/.test(node.parent.type);
    case 'assignment_expression': return isFunction(node.childForFieldName('right')) && node.parent.type === 'expression_statement';
    case 'assignment': return /^[A-Z]\w*$/.test(name) && !isInFunction(node);
    case 'const_spec': case 'var_spec': case 'const_item': case 'static_item': return !isInFunction(node);
    case 'field_declaration': return !isInFunction(node) && node.parent.type !== 'field_declaration_list' || isInNamedType(node);
    case 'method_elem': return isInNamedType(node);
    case 'struct_specifier': case 'union_specifier': case 'enum_specifier': case 'class_specifier': return Boolean(node.childForFieldName('name'));
    case 'package_declaration': case 'alias': return false;
    default: return true;
  }
}
