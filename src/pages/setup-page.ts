import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Language } from '../contract/languages.js'
import type { PageSettings } from '../contract/pages.js'
import { escapeHtml } from '../lib/text.js'
import type { Page } from './assets.js'
import { renderContent, renderPage, type Theme } from './shell.js'

/** The texts of the remarks: a section of the catalogue. */
type ProxyWords = Record<'heading' | 'host' | 'scheme' | 'trust' | 'again', string>
const proxyWordsSection = 'setup-proxy'

type Remark = { kind: 'host' | 'scheme' | 'trust'; seen: string }

/** The first of the values that several proxies may have joined: that of the visitor. */
const firstValue = (header: string | string[] | undefined) =>
  String(header ?? '')
    .split(',')[0]
    ?.trim()
    .toLowerCase() ?? ''

/** The host under which the visitor has opened the page, if PUBLIC_URL has another one. A proxy may leave the port out. */
const otherHost = ({ headers }: FastifyRequest, { hostname, host }: URL) => {
  const given = headers.host?.toLowerCase() ?? ''
  const isOurs = [given, firstValue(headers['x-forwarded-host'])].some((each) => each === hostname || each === host)
  return isOurs ? [] : [given]
}

/**
 * The scheme of the visitor, if PUBLIC_URL has another one. A proxy says it in a header. Without a proxy the connection is not encrypted;
 * but a browser sends `Sec-Fetch-Site` over TLS and to its own machine only.
 */
const otherScheme = ({ headers }: FastifyRequest, { protocol }: URL) => {
  const expected = protocol.slice(0, -1)
  const isDirect = headers['x-forwarded-for'] === undefined && headers['sec-fetch-site'] === undefined
  const given = firstValue(headers['x-forwarded-proto']) || (isDirect ? 'http' : expected)
  return given === expected ? [] : [given]
}

/** The address of a proxy whose `X-Forwarded-For` is not believed. */
const untrustedProxy = ({ headers, ips = [], socket: { remoteAddress = '' } }: FastifyRequest) => {
  const isBelieved = ips.length > 1
  if (headers['x-forwarded-for'] === undefined || isBelieved || !ipaddr.isValid(remoteAddress)) return []
  return [ipaddr.process(remoteAddress).toString()]
}

/** What is wrong with the way on which a request came. It is judged here, because over plain HTTP the page loads no script. */
const proxyRemarks = (request: FastifyRequest, publicUrl: string): Remark[] => {
  const url = new URL(publicUrl)
  return [
    ...otherHost(request, url).map((seen) => ({ kind: 'host', seen }) as const),
    ...otherScheme(request, url).map((seen) => ({ kind: 'scheme', seen }) as const),
    ...untrustedProxy(request).map((seen) => ({ kind: 'trust', seen }) as const),
  ]
}

/** Whether the form could not work: its request would be refused, or no cookie be stored. */
const preventsSetup = (remarks: readonly Remark[]) => remarks.some(({ kind }) => kind !== 'trust')

/** The remarks as they stand in the document, with the line to write into the settings. */
const drawRemarks = (remarks: readonly Remark[], words: ProxyWords, publicUrl: string) =>
  remarks
    .map(({ kind, seen }) => {
      const values: Record<string, string> = { seen, address: publicUrl }
      const text = words[kind].replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')
      const line = kind === 'trust' ? `\n<p><code class="secret">TRUST_PROXY=${escapeHtml(seen)}</code></p>` : ''
      return `<p>${escapeHtml(text)}</p>${line}`
    })
    .join('\n')

type Dependencies = {
  page: Page
  theme: Theme
  publicUrl: string
  settingsIn: (language: Language) => PageSettings
}

/**
 * The page of the setup for a visitor who came by a proxy that is not set up yet: only the remarks if the form could not work, else the
 * form below them. Undefined if nothing is wrong.
 */
export const createRemarkedPage =
  ({ page, theme, publicUrl, settingsIn }: Dependencies) =>
  (request: FastifyRequest, language: Language) => {
    const remarks = proxyRemarks(request, publicUrl)
    if (remarks.length === 0) return undefined
    // The build puts this section into the page (`sections` in web/words/catalogue.ts), and its type is that of the catalogue.
    const words = page.words[language].sections[proxyWordsSection] as ProxyWords
    const heading = escapeHtml(words.heading)
    const content = drawRemarks(remarks, words, publicUrl)
    if (preventsSetup(remarks)) {
      const all = `<h1>${heading}</h1>\n${content}\n<p>${escapeHtml(words.again)}</p>`
      return renderContent('setup', page, theme, language, all)
    }
    const style = 'max-width:25.5rem;margin:0 auto 1rem'
    const above = `<aside class="card" style="${style}" aria-label="${heading}"><p><strong>${heading}</strong></p>\n${content}</aside>\n`
    return renderPage('setup', page, theme, settingsIn(language), above)
  }
