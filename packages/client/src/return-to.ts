import { safeReturnTo as checked } from '#contract/return-to.js'

/**
 * The place to go after signing in, if it is a path of this site or a page of one of `allowedOrigins`; undefined for every other value.
 * A page that takes `returnTo` from its address must ask this first: otherwise a link to the page leads to any site of an attacker.
 */
export const safeReturnTo = (
  value: string | null | undefined,
  allowedOrigins?: readonly string[],
): string | undefined => {
  // A program without types may pass a text, in which `includes` would find a part of an origin.
  if (allowedOrigins !== undefined && !Array.isArray(allowedOrigins))
    throw new TypeError('allowedOrigins: must be a list of origins')
  return checked(value ?? undefined, allowedOrigins)
}
