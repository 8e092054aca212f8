import { domainToASCII } from 'node:url'
import { InvalidValue, list, type Read } from './setting-values.js'

const label = '[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?'
const shape = new RegExp(`^(?:${label}\\.)+${label}$`)

const mustBeDomains = () =>
  new InvalidValue('must be domains such as example.com, without @ and patterns; subdomains are not included')

/** Addresses of users are ASCII, so a domain with other letters is compared in its ASCII form. */
const domain: Read<string> = (value) => {
  const ascii = /^[\p{L}\p{M}\p{N}.-]+$/u.test(value) ? domainToASCII(value).toLowerCase() : ''
  if (!shape.test(ascii)) throw mustBeDomains()
  return ascii
}

/** A value of commas alone is refused: it names no domain, and an empty list would allow every domain. */
export const registrationDomains: Read<string[]> = (value) => {
  const domains = list(domain)(value)
  if (value !== '' && domains.length === 0) throw mustBeDomains()
  return domains
}
