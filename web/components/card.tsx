import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import { client } from '../browser/client.js'
import { withReturnTo } from '../browser/navigation.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useRefusalSentence } from '../words/refusals.js'
import { TryAgain } from './button.js'
import { ContinuesTo } from './from-application.js'
import { Heading } from './heading.js'
import { Announced, HelpLink, Notice } from './notice.js'

/** The card of a small page, and the line below it. */
export const Card = ({ children, footer }: { children: ComponentChildren; footer?: ComponentChildren }) => {
  const { hasMailbox } = useSettings()
  const words = useWords('common')
  return (
    <>
      <section class="card">{children}</section>
      {footer !== undefined && <p class="card-footer">{footer}</p>}
      {hasMailbox && (
        <p class="card-footer development-link">
          <a href="/dev/mailbox">{words.developmentMailbox}</a>
        </p>
      )}
    </>
  )
}

/** Shown below the title of the page until it is known what the page should show. */
export const LoadingCard = () => {
  const [pageWords] = Object.values(useSettings().words)
  const { oneMoment } = useWords('common')
  return (
    <Card>
      {pageWords && 'title' in pageWords && <h1>{pageWords.title}</h1>}
      <Announced class="lead" text={oneMoment} />
      <div class="skeleton" aria-hidden="true">
        <span />
        <span />
        <span />
      </div>
    </Card>
  )
}

type MessageProps = {
  heading: string
  kind: 'error' | 'success' | 'info'
  text: string
  /** Whether the heading takes the focus, because the card replaces a form. */
  focused?: boolean
  /** The text tells the user to ask the administrator. */
  hasHelpLink?: boolean
  children?: ComponentChildren
}

/** A page that has nothing but a message, what to do about it, and the way back. */
export const MessageCard = ({ heading, kind, text, focused = false, hasHelpLink = false, children }: MessageProps) => (
  <Card footer={<WayOut />}>
    <Heading text={heading} focused={focused} />
    <Notice kind={kind} after={hasHelpLink && <HelpLink />}>
      {text}
    </Notice>
    {children}
  </Card>
)

type NotLoadedProps = {
  refusal: Refusal
  /** The address to which the page would lead. */
  returnTo?: string | undefined
  /** Other texts, if what failed is a request that the visitor has sent, and not the loading of the page. */
  failureTexts?: { heading: string; lead: string } | undefined
  onTryAgain: () => Promise<void>
}

/** A page that needs an answer of the service before it can show anything, and did not get it. */
export const PageNotLoaded = ({ refusal, returnTo, failureTexts, onTryAgain }: NotLoadedProps) => {
  const { pageNotLoaded } = useWords('common')
  const sentenceOf = useRefusalSentence()
  return (
    <Card>
      <Heading text={failureTexts?.heading ?? pageNotLoaded} focused={failureTexts !== undefined} />
      <Notice kind="error">{sentenceOf(refusal)}</Notice>
      {failureTexts ? <p class="lead">{failureTexts.lead}</p> : <ContinuesTo returnTo={returnTo} />}
      <TryAgain onPress={onTryAgain} />
    </Card>
  )
}

/** The link below a page that has no next step. It leads to the sign-in, or to the account of a visitor who is signed in. */
export const WayOut = ({ returnTo }: { returnTo?: string | undefined }) => {
  const { backToLogin, toAccount } = useWords('common')
  const [isSignedIn, setSignedIn] = useState(false)
  useEffect(() => {
    void client.me().then(({ refused }) => setSignedIn(refused === undefined))
  }, [])
  return isSignedIn ? (
    <a href={returnTo ?? '/api/auth/account-page'}>{toAccount}</a>
  ) : (
    <a href={withReturnTo('/login', returnTo)}>{backToLogin}</a>
  )
}
