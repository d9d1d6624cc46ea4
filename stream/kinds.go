package stream

import (
	"slices"
	"strings"
)

// Kind says what went wrong with an exchange.
type Kind string

// The kinds of failures without a word of the endpoint about the reason.
const (
	Unreachable Kind = "unreachable" // no connection, TLS, or a time-out before the headers
	Malformed   Kind = "malformed"   // a body that is not a model's reply
	Cut         Kind = "cut"         // the reply ended before it was complete
	Stalled     Kind = "stalled"     // silent for IdleTimeout
	TooLarge    Kind = "too_large"   // a cap was exceeded
	Mismatch    Kind = "mismatch"    // a replay that does not fit the request
)

// The kinds of refusals, in any form: an HTTP status, an error event, a response that failed.
const (
	Passes         Kind = "passes"               // a rate limit, an overload, a failure of the endpoint
	BadSample      Kind = "bad_sample"           // the model wrote something that the endpoint cannot use; another try may not
	Quota          Kind = "quota"                // no credit, no quota, or a spending limit
	NoSuchModel    Kind = "no_such_model"        // the endpoint does not have the model, or not for this account
	KeyRefused     Kind = "key_refused"          // no key, a wrong key, or no permission
	WrongPath      Kind = "wrong_path"           // the endpoint is somewhere else
	TooLong        Kind = "too_long"             // the conversation is longer than the context or the endpoint's limit
	FormRefused    Kind = "form_refused"         // the form of the answer
	PairRefused    Kind = "pair_refused"         // the form of the answer beside tools
	PictureRefused Kind = "picture_refused"      // pictures
	StateInvalid   Kind = "state_invalid"        // the state of earlier rounds, such as a signature
	ForeignCall    Kind = "foreign_call_refused" // calls of another endpoint, or the lack of state with them
	ToolRefused    Kind = "tool_refused"         // the definition of a tool, or all tools
	RoleRefused    Kind = "role_refused"         // a role, or the order of roles
	Moderation     Kind = "moderation"           // the content
	RequestDefect  Kind = "request_defect"       // another part of the request
)

// Again reports whether the same request may succeed later.
func (k Kind) Again() bool {
	return k == Passes || k == BadSample || k == Unreachable || k == Cut || k == Stalled
}

// Elsewhere reports whether another model may not have the failure. A mismatch is one, because a
// recording does not contain an endpoint that could not be reached.
func (k Kind) Elsewhere() bool {
	return k == Passes || k == BadSample || k == Unreachable || k == Mismatch || k == Quota || k == NoSuchModel
}

// kind decides what the refusal of r is about. The first fitting kind counts: precise codes and
// words come first, and what only the status says comes last.
func (f *refusal) kind(r *Request) Kind {
	switch {
	case f.status/100 == 3:
		return WrongPath
	case f.isBadSample():
		return BadSample
	case (f.status == 0 || f.status == 400 || f.status == 422) && len(f.refusedTools(r)) > 0: // a schema can have any words
		return ToolRefused
	case f.isModeration():
		return Moderation
	case f.isQuota():
		return Quota
	case refusesLength(f):
		return TooLong
	case f.namesNoModel():
		return NoSuchModel
	case f.says("overloaded", "at capacity", "over capacity", "no capacity", "degraded function"):
		return Passes
	}
	if f.status != 429 && f.status < 502 { // later statuses are about the endpoint, whatever they say
		if kind := f.subject(r); kind != "" {
			return kind
		}
	}
	switch f.status {
	case 401, 403:
		return KeyRefused
	case 404, 405, 410:
		if f.says("model", "deployment") || f.status == 410 {
			return NoSuchModel
		}
		return WrongPath
	case 0, 408, 409, 425, 429:
		return Passes
	}
	if f.status >= 500 {
		return Passes
	}
	return RequestDefect
}

// subject is the part of r that the refusal is about, "" if it names none.
func (f *refusal) subject(r *Request) Kind {
	switch {
	case f.lacksModel(r.Model):
		return NoSuchModel
	case f.is("invalid_api_key", "api_key_invalid", "authentication_error"), f.says("api key not valid", "invalid api key", "incorrect api key"):
		return KeyRefused
	case f.isForeignCall():
		return ForeignCall
	case f.isStateInvalid(r):
		return StateInvalid
	case slices.ContainsFunc(r.Messages, func(m Message) bool { return hasImage(m.Parts) }) && f.isPicture():
		return PictureRefused
	case r.Schema != nil && f.isForm():
		if len(r.Tools) > 0 && f.says("tool", "tool_choice", "function") {
			return PairRefused
		}
		return FormRefused
	case f.isRole():
		return RoleRefused
	case f.isTool(r):
		return ToolRefused
	}
	return ""
}

// isBadSample: Groq and others check the model's text on their side, and refuse the request if the
// model did not write a usable call or answer.
func (f *refusal) isBadSample() bool {
	if f.says("failed to parse tool call arguments") { // of llama-server, about an earlier call
		return false
	}
	return f.is("tool_use_failed", "json_validate_failed", "output_parse_failed", "malformed_function_call") ||
		f.says("malformed_function_call", "failed to call a function", "failed to parse tool call", "failed to parse input", "could not parse header",
			"tokens remaining in message header", "while expecting start token", "failed to generate json", "failed to validate json", "tool call validation failed",
			"not in request.tools", "malformed function call", "error parsing tool call", "parsing failed. the model generated output")
}

func (f *refusal) isModeration() bool {
	if !slices.Contains([]int{0, 400, 403, 421, 422, 451, 500}, f.status) {
		return false
	}
	return f.is("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed", "datainspectionfailed",
		"sensitivecontentdetected", "moderation_blocked", "cyber_policy") ||
		f.says("severe violation", "content_filter", "content filter", "content management policy", "content policy", "filtering policy", "usage guidelines",
			"content_policy_violation", "usage policies", "usage policy", "flagged", "moderation", "inappropriate content", "safety system", "safety reason",
			"prohibited content", "prohibited_content", "content exists risk", "unsafe or sensitive", "sensitive content", "sensitive information")
}

// isQuota: a limit of the rate passes, also where the text names a page about billing.
func (f *refusal) isQuota() bool {
	throttled := slices.ContainsFunc(f.codes, func(code string) bool { return strings.HasPrefix(code, "throttling") })
	switch {
	case f.status == 402, f.is("insufficient_quota", "exceeded_current_quota_error", "billing_error", "billing_not_active", "billing_hard_limit_reached",
		"insufficient_balance", "quota_exceeded", "arrearage", "insufficient_user_quota", "insufficient_credits", "1113", "1308", "1310", "usage_limit_reached"),
		f.says("limit: 0", "limit exhausted", "key limit exceeded", "fair usage policy", "usage limit"):
		return true
	case f.wait > 0, f.status == 404, throttled, f.says("e.g. check quota", "throttling", "rate quota"):
		return false
	case f.says("insufficient balance", "insufficient credit", "insufficient fund", "extra usage", "credits", "余额", "欠费", "充值"):
		return true
	case f.status >= 500, f.is("rate_limit_exceeded", "rate_limit_error", "ratelimitreached"),
		f.says("rate limit", "ratelimit", "per minute", "per second", "too many requests", "requests per day", "tokens per day"):
		return false
	}
	return f.says("credit", "balance", "billing", "quota", "arrear", "overdue", "payment", "spending limit", "spend limit", "recharge", "top up", "free tier",
		"dunning", "account has been suspended", "account suspended", "is suspended", "额度", "in good standing")
}

// namesNoModel reports whether the refusal says in fixed words, which can have any status, that
// the model is not there.
func (f *refusal) namesNoModel() bool {
	if f.is("model_not_found", "deploymentnotfound", "invalid_model", "model_not_available", "unknown_model", "unsupported_model", "model_not_supported",
		"unsupportedmodel", "modelnotfound", "model_not_exist", "modelnotopen", "invalidendpointormodel.notfound", "model_decommissioned", "model_deprecated") {
		return true
	}
	return f.ofModel() && f.says("invalid model", "invalid_model", "incorrect model", "unknown model", "no such model", "not a valid model", "unsupported model",
		"not supported model", "non-existent model", "not find model", "not find the model", "not found the model", "can't find model", "access to model",
		"access to the model", "unable to access", "not support model", "no endpoints found for", "no endpoints available", "model not exist",
		"no allowed providers are available", "no available model", "no available channel for model", "no models loaded", "无可用渠道", "support the model",
		"model access is denied", "no model named", "model_not_found", "not activated the model", "on-demand throughput", "not found for account")
}

// ofModel reports whether the refusal names no other field than the model.
func (f *refusal) ofModel() bool { return f.param == "" || f.param == "model" }

// lacksModel reports whether a sentence about the model says that it is not there. A text that
// says what a model does not support is about something else.
func (f *refusal) lacksModel(model string) bool {
	if !f.ofModel() || !slices.Contains([]int{0, 400, 401, 403, 404, 422}, f.status) {
		return false
	}
	for _, subject := range []string{strings.ToLower(model), "model", "deployment", "engine"} {
		for text := f.words; subject != ""; {
			i := indexPhrase(text, subject)
			if i < 0 {
				break
			}
			if text = text[i+len(subject):]; saysMissing(text[:min(len(text), maxPredicate)]) {
				return true
			}
		}
	}
	return false
}

// maxPredicate is how far after the name of a model a text may say that it is missing, in bytes.
const maxPredicate = 120

// saysMissing reports whether a sentence that began with a model goes on to say that it is
// missing, with nothing between that could be missing instead.
func saysMissing(sentence string) bool {
	end := len(sentence)
	for _, stop := range []string{". ", "\n", "; "} {
		if i := strings.Index(sentence, stop); i >= 0 {
			end = min(end, i)
		}
	}
	sentence = sentence[:end]
	first := -1
	for _, predicate := range []string{"not exist", "doesn't exist", "not found", "not be found", "not supported", "not available", "unavailable",
		"no longer", "deprecated", "decommissioned", "retired", "removed", "shut down", "sunset", "discontinued", "not valid", "is invalid", "unknown",
		"not recognized", "not recognised", "not loaded", "not allowed", "not have access", "no access", "only available", "not enabled",
		"not accessible", "not a model", "end of life", "end-of-life", "not activated", "isn't available", "isn't supported", "not permitted",
		"not configured", "not served", "not deployed"} {
		if i := indexPhrase(sentence, predicate); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	if first < 0 {
		return false
	}
	other := refusal{words: sentence[:first]}
	return !other.says("tool", "function", "image", "parameter", "temperature", "system", "role", "reasoning", "thinking", "stream", "streaming", "json",
		"response_format", "value", "field", "argument", "property", "support", "prefill", "context", "token", "prompt", "input", "message", "content", "template",
		"feature", "schema", "with", "when", "logprobs", "effort")
}

// isForeignCall: an endpoint demands ids of its own form, or state that only its own models write.
func (f *refusal) isForeignCall() bool {
	return f.isAboutIDs() || f.lacksSignature() || f.lacksReasoning() || f.lacksThinking()
}

func (f *refusal) isAboutIDs() bool {
	return f.says("tool call id", "tool_call_id", "call_id", "tooluseid", "tool_use_id", ".id") &&
		f.says("length", "must be a-z", "pattern", "too long", "maximum", "alphanumeric", "invalid characters", "satisfy constraint") &&
		!f.says("not found", "no tool call found")
}

func (f *refusal) lacksSignature() bool {
	return f.says("thought_signature", "thought signature", "thoughtsignature") && f.says("missing", "required", "must include", "must have")
}

func (f *refusal) lacksReasoning() bool {
	return f.says("reasoning_content") && f.says("passed back", "missing", "required", "must be provided", "must include", "must contain", "must be set", "must exist")
}

func (f *refusal) lacksThinking() bool {
	return f.says("thinking") && f.says("must start with a thinking block", "expected `thinking`", "but found `tool_use`", "but found `text`", "passed back",
		"must begin with a thinking block")
}

// isStateInvalid: signatures and encrypted items are only valid for some time, one account and one
// model. If the request has such state, each refusal that speaks of it is about it: a session must
// not end because of something that can be left out.
func (f *refusal) isStateInvalid(r *Request) bool {
	about := f.says("signature", "thought_signature", "encrypted content", "encrypted_content", "reasoning_content", "reasoning_detail", "redacted_thinking",
		"reasoning_text", "thinking block", "`thinking`", "reasoning item", "invalid_encrypted_content") && !f.says("encrypted content is not supported")
	switch {
	case f.is("invalid_encrypted_content", "thinking_signature_invalid", "invalid_signature"),
		f.says("provided without its required", "cannot be modified", "must contain thinking") && f.says("reasoning", "thinking", "item"),
		f.says("not found") && (f.says("item with id", "item '", "item `") || f.says("item") && strings.Contains(f.words, "rs_")):
		return true
	case hasState(r.Messages) && (about || f.says("thinking", "reasoning")):
		return !strings.HasPrefix(f.param, "reasoning") && !strings.HasPrefix(f.param, "thinking")
	}
	return about && f.says("invalid", "not valid", "corrupted", "could not be verified", "could not be decrypted", "cannot be decrypted", "mismatch", "expired",
		"verification", "extra input", "not permitted", "not supported", "unsupported", "unknown field", "unrecognized", "not allowed", "unexpected")
}

// isPicture: servers refuse pictures with many statuses, and often only name the type that they
// expect. llama.cpp answers 500 with "image input is not supported"; any other 500 that mentions
// an image may be about something else, such as the server's container image.
func (f *refusal) isPicture() bool {
	if f.status == 500 || f.status == 501 {
		return f.says("image input is not supported", "does not support image")
	}
	return f.says("image_url", "image input", "input image", "input_image", "images", "image content", "vision", "multimodal", "multi-modal",
		"unsupported content type", "content part", "content[].type", "must be a string", "should be a valid string", "content should be a string",
		"expected string, got array", "expected a string", "media type", "media_type", "mime type", "mime_type", "modality", "modalities", "image/png",
		"image/jpeg", "pixels") ||
		f.says("image", "document", "pdf") && f.says("support", "supported", "unsupported", "accept", "accepted", "allow", "allowed", "content type", "invalid", "process", "exceed",
			"too large", "decode", "download", "empty", "corrupted", "unable", "could not", "failed", "dimension", "unknown")
}

// isForm reports whether the refusal is about the form of the answer.
func (f *refusal) isForm() bool {
	if f.says("schema for function", "input_schema", "function_declarations") || strings.HasPrefix(f.param, "tools") || strings.Contains(f.words, "tools[") {
		return false
	}
	return f.names("response_format", "json_schema", "json_object", "text.format", "output_config", "output_format", "guided_json", "strict", "additionalproperties",
		"responseschema", "response_schema") ||
		f.says("schema", "handle the requested parameters", "response format", "output format", "structured output", "structured_output", "structured-output",
			"mimetype", "json mode", "grammar", "response_mime_type", "mime type", "constrained decoding", "too many states", "guided decoding", "json_mode")
}

func (f *refusal) isTool(r *Request) bool {
	return f.names("tools", "tool_config", "function_declarations") ||
		f.says("schema for function", "input_schema", "tool use is", "tool use with", "tool calling", "function calling", "support tool", "tools are not supported",
			"tool-call-parser", "function name", "tool name", "support functions", "custom tool", "functiondeclaration",
			"provided 'tool_choice' value") || len(r.Tools) > 0 && f.says("tools", "grammar", "schema")
}

// isDescription reports whether a refusal says that a description is too long.
func (f *refusal) isDescription() bool {
	return f.says("description") && f.says("1024", "1,024", "too long", "length", "at most", "string_above_max_length")
}

// isRole reports whether a refusal is about a role or the order of roles. Templates of chats fail
// with status 500.
func (f *refusal) isRole() bool {
	if f.says("property", "must be satisfied", "too long") { // Groq names the role of the message
		return false
	}
	return f.names("role") || f.says("role") && f.says("tool", "system", "developer", "unexpected", "unknown", "invalid", "unsupported", "only") ||
		f.says("alternate", "alternating", "alternation", "conversation roles", "function call turn", "function response turn", "function response part",
			"system message", "system prompt", "developer instruction", "system instruction", "system_instruction", "developer message", "only user and assistant")
}
