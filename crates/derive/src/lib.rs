#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::iter::Peekable;

use proc_macro::{Delimiter, TokenStream, TokenTree, token_stream::IntoIter};

type Tokens = Peekable<IntoIter>;

/// Derives `strewn_base::state::SavedValue`: the fields in order; of an enum, the number of the variant before them.
#[proc_macro_derive(SavedValue)]
pub fn saved_value(item: TokenStream) -> TokenStream {
    let code = Item::parse(item).map_or_else(
        |problem| format!("compile_error!(\"SavedValue cannot be derived: {problem}\");"),
        |item| item.implementation(),
    );
    code.parse().unwrap_or_default()
}

struct Item {
    name: String,
    type_parameters: Vec<TypeParameter>,
    shape: Shape,
}

struct TypeParameter {
    name: String,
    /// What stands after the colon.
    bounds: String,
}

/// Names of fields, or their numbers.
type Fields = Vec<String>;

enum Shape {
    Struct(Fields),
    Enum(Vec<(String, Fields)>),
}

impl Item {
    fn parse(item: TokenStream) -> Result<Self, String> {
        let mut tokens = item.into_iter().peekable();
        skip_attributes_and_visibility(&mut tokens);
        let keyword = identifier(&mut tokens)?;
        let name = identifier(&mut tokens)?;
        let type_parameters = type_parameters(&mut tokens)?;
        let body = tokens.next();
        let shape = match keyword.as_str() {
            "struct" => Shape::Struct(fields(body.as_ref())?),
            "enum" => Shape::Enum(variants(body)?),
            other => return Err(format!("{other} {name}")),
        };
        Ok(Self { name, type_parameters, shape })
    }

    fn implementation(&self) -> String {
        let Self { name, type_parameters, shape } = self;
        let declared: String = type_parameters
            .iter()
            .map(|TypeParameter { name, bounds }| format!("{name}: {bounds} {STATE}::SavedValue,"))
            .collect();
        let used: String = type_parameters.iter().map(|one| format!("{},", one.name)).collect();
        let (write, read) = match shape {
            Shape::Struct(fields) => (
                format!("let Self {} = self; {}", pattern(fields), writes(fields)),
                format!("Ok(Self {})", reads(fields)),
            ),
            Shape::Enum(variants) => {
                let numbered = || variants.iter().enumerate();
                let writes = numbered().map(|(number, (variant, fields))| {
                    let (pattern, writes) = (pattern(fields), writes(fields));
                    format!("Self::{variant} {pattern} => {{ to.value(&{number}_u32)?; {writes} }}")
                });
                let reads = numbered().map(|(number, (variant, fields))| {
                    format!("{number} => Ok(Self::{variant} {}),", reads(fields))
                });
                let (writes, reads) = (writes.collect::<String>(), reads.collect::<String>());
                let unknown = format!(
                    "other => Err({STATE}::StateError::unknown_variant(other, \"{name}\"))"
                );
                (
                    format!("match self {{ {writes} }}"),
                    format!("match from.value::<u32>()? {{ {reads} {unknown} }}"),
                )
            }
        };
        format!(
            "#[automatically_derived]
            impl<{declared}> {STATE}::SavedValue for {name}<{used}> {{
                fn write(&self, to: &mut {STATE}::StateWriter<'_>) -> Result<(), {STATE}::StateError> {{
                    {write}
                    Ok(())
                }}
                fn read(from: &mut {STATE}::StateReader<'_>) -> Result<Self, {STATE}::StateError> {{
                    {read}
                }}
            }}"
        )
    }
}

const STATE: &str = "::strewn_base::state";

/// Binds each field to a name of its own.
fn pattern(fields: &Fields) -> String {
    let bound: String = fields.iter().map(|field| format!("{field}: field_{field},")).collect();
    format!("{{ {bound} }}")
}

fn writes(fields: &Fields) -> String {
    fields.iter().map(|field| format!("to.value(field_{field})?;")).collect()
}

fn reads(fields: &Fields) -> String {
    let read: String = fields.iter().map(|field| format!("{field}: from.value()?,")).collect();
    format!("{{ {read} }}")
}

fn skip_attributes_and_visibility(tokens: &mut Tokens) {
    loop {
        match tokens.peek() {
            Some(TokenTree::Punct(punct)) if punct.as_char() == '#' => {
                tokens.next();
                tokens.next();
            }
            Some(TokenTree::Ident(word)) if word.to_string() == "pub" => {
                tokens.next();
                let is_path = |token: &TokenTree| delimiter(token) == Some(Delimiter::Parenthesis);
                tokens.next_if(is_path);
            }
            _ => return,
        }
    }
}

fn delimiter(token: &TokenTree) -> Option<Delimiter> {
    match token {
        TokenTree::Group(group) => Some(group.delimiter()),
        _ => None,
    }
}

fn identifier(tokens: &mut Tokens) -> Result<String, String> {
    match tokens.next() {
        Some(TokenTree::Ident(word)) => Ok(word.to_string()),
        other => Err(format!("a name is missing at {other:?}")),
    }
}

/// The parameters between `<` and `>`, if there are any. Defaults are dropped.
fn type_parameters(tokens: &mut Tokens) -> Result<Vec<TypeParameter>, String> {
    if !matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '<') {
        return Ok(Vec::new());
    }
    tokens.next();
    let mut all = Vec::new();
    for mut parameter in split_by_commas(tokens) {
        let name = identifier(&mut parameter)?;
        if name == "const" {
            return Err("it has a constant parameter".to_owned());
        }
        let has_bounds = parameter.next().is_some_and(|token| is_punct(&token, ':'));
        let bounds = parameter.take_while(|token| has_bounds && !is_punct(token, '='));
        let bounds = bounds.collect::<TokenStream>().to_string();
        let plus = if bounds.is_empty() { "" } else { " +" };
        all.push(TypeParameter { name, bounds: bounds + plus });
    }
    Ok(all)
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Splits at commas that are not within `<` and `>`, up to the end or the first `>` too many.
fn split_by_commas(tokens: &mut Tokens) -> Vec<Tokens> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut depth = 0_u32;
    for token in tokens {
        match &token {
            token if is_punct(token, '<') => depth += 1,
            token if is_punct(token, '>') => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => break,
            },
            token if is_punct(token, ',') && depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(token);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    let stream = |part: Vec<TokenTree>| part.into_iter().collect::<TokenStream>();
    parts.into_iter().map(|part| stream(part).into_iter().peekable()).collect()
}

/// The fields of a struct or a variant from what stands after its name.
fn fields(body: Option<&TokenTree>) -> Result<Fields, String> {
    let Some(TokenTree::Group(group)) = body else { return Ok(Fields::new()) };
    let parts = split_by_commas(&mut group.stream().into_iter().peekable());
    match group.delimiter() {
        Delimiter::Brace => parts
            .into_iter()
            .map(|mut field| {
                skip_attributes_and_visibility(&mut field);
                identifier(&mut field)
            })
            .collect(),
        _ => Ok((0..parts.len()).map(|number| number.to_string()).collect()),
    }
}

fn variants(body: Option<TokenTree>) -> Result<Vec<(String, Fields)>, String> {
    let Some(TokenTree::Group(group)) = body else { return Err("it has a `where`".to_owned()) };
    split_by_commas(&mut group.stream().into_iter().peekable())
        .into_iter()
        .map(|mut variant| {
            skip_attributes_and_visibility(&mut variant);
            let name = identifier(&mut variant)?;
            Ok((name, fields(variant.next().as_ref())?))
        })
        .collect()
}
