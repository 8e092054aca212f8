// The build copies this file into the packages that ask the service: each of them is published by itself.

import { codeOfLimit } from '#contract/limits.js'
import type { RefusalCode } from '#contract/refusals.js'

type Body = { error?: unknown; code?: RefusalCode }

/** The refusal of an answer. An answer that is not from the service, such as the error page of a proxy, has no code. */
export const refusalOf = <Refused extends Body>({ status, headers }: Response, body: Refused = {} as Refused) => {
  const seconds = Math.ceil(Number(headers.get('retry-after')))
  return {
    ...body,
    // A limit answers 429 without a code. The title (`error`) tells which of the three limits it is.
    refused: status === 429 ? codeOfLimit(body.error) : body.code || ('unknown' as const),
    status,
    retryAfter: seconds > 0 ? seconds : undefined,
  }
}

/** The object that the text is; undefined for anything else, such as a page. */
export const objectIn = (text: string): object | undefined => {
  try {
    const value = JSON.parse(text)
    return value === Object(value) ? value : undefined
  } catch {
    return undefined
  }
}
