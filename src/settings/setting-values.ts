import { readDuration } from '../lib/durations.js'

/** The message says what a value must be. It never repeats the value, which may be a secret. */
export class InvalidValue extends Error {
  override name = 'InvalidValue'
}

export type Read<Value> = (text: string) => Value

export type Setting<Value = unknown> = {
  read: Read<Value>
  /** The value that is used when the setting is absent. */
  fallback?: string
  /** What happens without the setting, for the guide, if `fallback` cannot say it. */
  otherwise?: string
  meaning: string
  secret?: true
  /** An empty value is a value, which `read` gets, and not the same as none. */
  takesEmpty?: true
  /** Other programs have a setting of this name too, so outside production a line of a `.env` file is taken for theirs. */
  commonName?: true
}

const mustBe = (requirement: string) => new InvalidValue(`must be ${requirement}`)

export const text: Read<string> = (value) => value

/** The path of a file or a folder. A relative path starts at the working directory. */
export const filePath: Read<string> = (value) => value

export const oneOf =
  <const Choices extends readonly string[]>(...choices: Choices): Read<Choices[number]> =>
  (value) => {
    const choice = choices.find((each) => each === value)
    if (choice === undefined) throw mustBe(`one of ${choices.join(', ')}`)
    return choice
  }

export const integer =
  (least: number, most: number): Read<number> =>
  (value) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) throw mustBe(`a whole number from ${least} to ${most}`)
    return number
  }

export const duration: Read<number> = (value) => {
  const milliseconds = readDuration(value)
  if (milliseconds === undefined) throw mustBe('a duration such as 30s, 15m, 1h or 365d')
  return milliseconds
}

/** A duration above zero. */
export const positiveDuration: Read<number> = (value) => {
  const milliseconds = duration(value)
  if (milliseconds === 0) throw mustBe('longer than 0')
  return milliseconds
}

/** A duration in whole seconds, because the times in tokens are whole seconds. */
export const durationUpTo =
  (longest: string): Read<number> =>
  (value) => {
    const milliseconds = duration(value)
    if (milliseconds < 1_000 || milliseconds % 1_000 > 0 || milliseconds > duration(longest))
      throw mustBe(`whole seconds, from 1s to ${longest}`)
    return milliseconds
  }

export const limit: Read<{ maximum: number; window: number }> = (value) => {
  const [maximum = '', window = ''] = value.split('/')
  const count = /^\d{1,9}$/.test(maximum) ? Number(maximum) : 0
  if (count < 1 || !/^[1-9]\d{0,8}(ms|s|m|h|d)$/.test(window))
    throw mustBe('a number of requests and a window, such as 5/15m')
  return { maximum: count, window: duration(window) }
}

/** An address without query and fragment, and without its last slash, so that a path can be appended. */
export const webAddress: Read<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  if (!url || !isPlain) throw mustBe('an address such as https://app.example.com')
  return (url.origin + url.pathname).replace(/\/$/, '')
}

/** The address of a whole site: cookies and redirects belong to an origin, not to a path below it. */
export const siteAddress: Read<string> = (value) => {
  const address = webAddress(value)
  if (address !== new URL(address).origin) throw mustBe('an address without a path, such as https://app.example.com')
  return address
}

export const list =
  <Value>(read: Read<Value>): Read<Value[]> =>
  (value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(read)

/** An `https` address of any site, or a path of this one. */
export const addressOrPath =
  (example: string): Read<string> =>
  (value) => {
    if (!/^(https:\/\/[^/]|\/(?![/\\]))/i.test(value) || !URL.canParse(value, 'https://app.example.com'))
      throw new InvalidValue(`must be an address that begins with https://, or a path of this site such as ${example}`)
    return value
  }

export const logoAddress = addressOrPath('/logo.png')
