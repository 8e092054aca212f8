import { describe, expect, it } from 'vitest'
import { applicationAdd, applicationChange } from './application-change.js'
import { changeOptions, newApplicationOptions, readChange, readNewApplication } from './application-options.js'

/** Reads the given values, and returns the names of the options that were asked for. */
const readBy = (read: (values: Record<string, never>) => unknown, given: Record<string, unknown>) => {
  const asked = new Set<string>()
  const get = (values: object, name: string) => {
    asked.add(name)
    return Reflect.get(values, name)
  }
  read(new Proxy(given, { get }) as Record<string, never>)
  return asked
}

describe('an option that the parser accepts is read, and the help names it', () => {
  it.each(Object.keys(changeOptions))('of a change: %s', (name) => {
    expect(readBy(readChange, { home: 'https://wiki.example.com' })).toContain(name)
    expect(applicationChange.help).toMatch(new RegExp(`--${name}\\b`))
  })

  it.each(Object.keys(newApplicationOptions))('of a new application: %s', (name) => {
    const read = (values: Record<string, never>) => readNewApplication('Wiki', values)
    expect(readBy(read, { everyone: true, redirect: ['https://wiki.example.com/callback'] })).toContain(name)
    expect(applicationAdd.help).toMatch(new RegExp(`--${name}\\b`))
  })
})
