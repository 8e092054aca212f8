/** The sentences of the strength estimate about a password: first what makes it weak, then advice. */
export const feedbackSentences = {
  straight_rows: 'Straight rows of keys on your keyboard are easy to guess.',
  key_patterns: 'Short keyboard patterns are easy to guess.',
  repeated_characters: 'Repeated characters like "aaa" are easy to guess.',
  repeated_patterns: 'Repeated character patterns like "abcabcabc" are easy to guess.',
  sequences: 'Common character sequences like "abc" are easy to guess.',
  recent_years: 'Recent years are easy to guess.',
  dates: 'Dates are easy to guess.',
  heavily_used: 'This is a heavily used password.',
  frequently_used: 'This is a frequently used password.',
  commonly_used: 'This is a commonly used password.',
  similar_to_common: 'This is similar to a commonly used password.',
  single_word: 'Single words are easy to guess.',
  single_name: 'Single names or surnames are easy to guess.',
  common_names: 'Common names and surnames are easy to guess.',
  common_words: 'Common words with numbers and symbols added are easy to guess.',
  personal: 'Your name, your email address and words that belong to this service are easy to guess.',
  patterns: 'Rows of keys, repetitions and dates are easy to guess.',

  avoid_substitutions: "Avoid predictable letter substitutions like '@' for 'a'.",
  avoid_reversed_words: 'Avoid reversed spellings of common words.',
  capitalize_some: 'Capitalize some, but not all letters.',
  capitalize_more: 'Capitalize more than the first letter.',
  avoid_dates: 'Avoid dates and years that are associated with you.',
  avoid_recent_years: 'Avoid recent years.',
  avoid_own_years: 'Avoid years that are associated with you.',
  avoid_sequences: 'Avoid common character sequences.',
  avoid_repetition: 'Avoid repeated words and characters.',
  longer_key_patterns: 'Use longer keyboard patterns and change typing direction multiple times.',
  add_words: 'Add more words that are less common.',
  use_words: 'Use multiple words, but avoid common phrases.',
  unrelated_words: 'Three or four unrelated words in a row are a good start.',
} as const satisfies Record<string, string>

export type FeedbackId = keyof typeof feedbackSentences

export const feedbackIds = /* @__PURE__ */ Object.keys(feedbackSentences) as FeedbackId[]

export const isFeedbackId = (text: string): text is FeedbackId => Object.hasOwn(feedbackSentences, text)
