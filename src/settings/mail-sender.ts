import { InvalidValue, type Read } from './setting-values.js'

const address = String.raw`[^\s@<>()[\]",;:\\]+@[^\s@<>()[\]",;:\\]+`
const plainName = String.raw`[^<>()[\]@",;:\\\p{Cc}]*`
const quotedName = String.raw`"[^"\\\p{Cc}]*"\s*`
const sender = new RegExp(`^(?:${address}|(?:${plainName}|${quotedName})<${address}>)$`, 'u')

/** One address, with or without a name. A mail server would refuse any other sender. */
export const mailSender: Read<string> = (value) => {
  if (!sender.test(value))
    throw new InvalidValue(
      'must be one address such as no-reply@example.com, or Example <no-reply@example.com>; a name with a comma is put in quotes',
    )
  return value
}
