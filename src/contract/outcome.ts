/**
 * The shape of every refusal: an expected "no" is a value, not an exception. `refused` is a stable code; details such as the broken
 * password rules stand beside it.
 */
export type Refused<Code extends string = string> = { readonly refused: Code }

/** `NoInfer`: without it TypeScript takes the details from the expected type, and accepts a code that does not fit. */
export const refuse = <const Code extends string, Details extends object = object>(
  refused: Code,
  details?: Details,
): Refused<Code> & NoInfer<Details> => ({ ...(details as Details), refused })

export const isRefused = <Value>(value: Value): value is Extract<Value, Refused> =>
  typeof value === 'object' && value !== null && 'refused' in value
