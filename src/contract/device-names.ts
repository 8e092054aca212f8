/** Browsers, and other programs that name themselves. */
const programs: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOpera\b/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/Chrom(?:e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
]

const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** The order of both tables matters, because most browsers also name the older browsers that they are compatible with. */
const firstMatch = (table: readonly (readonly [RegExp, string])[], text: string) =>
  table.find(([pattern]) => pattern.test(text))?.[1]

/** Reads the device from a user agent. `browser` may also be a program such as curl. */
export const readDevice = (userAgent: string) => ({
  browser: firstMatch(programs, userAgent) ?? null,
  system: firstMatch(systems, userAgent) ?? null,
})

export type DeviceWords = { unknownDevice: string; device: string; onAppleDevice: string }
type Device = { browser: string | null; system: string | null }

/** These devices are named instead of their system. German has other words for them: "auf dem iPhone". */
const appleDevices = ['iPhone', 'iPad']

/** The name of a device, such as "Firefox on Windows". */
export const deviceName = ({ browser, system }: Device, words: DeviceWords) => {
  if (browser === null || system === null) return browser ?? system ?? words.unknownDevice
  const text = appleDevices.includes(system) ? words.onAppleDevice : words.device
  return text.replace('{browser}', browser).replace('{system}', system)
}

export const englishDevices: DeviceWords = {
  unknownDevice: 'Unknown device',
  device: '{browser} on {system}',
  onAppleDevice: '{browser} on {system}',
}

/** A user agent as the API names it, in English, and the two parts of that name. */
export const describeDevice = (userAgent: string) => {
  const read = readDevice(userAgent)
  return { device: deviceName(read, englishDevices), ...read }
}
