import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { useFocusAfter } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'

/** The present state of a thing. It is read before the button that changes it. */
type PanelState = { text: string; look?: 'on' | 'off'; lang?: string | undefined }

export type PanelProps = {
  title: string
  /** The level of the heading. */
  level?: 2 | 3
  state?: PanelState | undefined
  /** Read out with the title, if that takes the focus. */
  lead?: string | undefined
  /** The fragment of an address that leads to this panel. */
  anchor?: string
  look?: 'danger'
  /** The step that the panel shows. Its title gets the focus if a change of the step has removed the focused element. */
  step?: string | undefined
  children: ComponentChildren
}

export const Panel = ({ title, level = 2, state, lead, anchor, look, step, children }: PanelProps) => {
  const id = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  const Title = level === 2 ? 'h2' : 'h3'
  useFocusAfter(heading, step)
  return (
    <section id={anchor} class={look === undefined ? 'panel' : `panel ${look}`} aria-labelledby={id}>
      <div class="panel-head">
        <Title ref={heading} id={id} aria-describedby={lead === undefined ? undefined : `${id}-lead`}>
          {title}
        </Title>
        {state && (
          <p class={`panel-state ${state.look ?? ''}`} lang={state.lang}>
            {state.text}
          </p>
        )}
        {lead !== undefined && (
          <p class="panel-lead" id={`${id}-lead`}>
            {lead}
          </p>
        )}
      </div>
      {children}
    </section>
  )
}

type NextStepsProps = { newApplication?: string | undefined; invitations?: string }

/** The steps after the setup, with links to the screens of administrators that can be reached from here. */
export const NextSteps = ({ newApplication, invitations }: NextStepsProps) => {
  const words = useWords('next-steps')
  return (
    <Panel title={words.heading} lead={words.lead}>
      <ol class="row-list">
        <li>
          <div class="row-text">
            <strong>{words.mail}</strong>
            <span>{words.mailText}</span>
            <code>SMTP_URL, MAIL_FROM</code>
          </div>
        </li>
        <li>
          <div class="row-text">
            <strong>{words.application}</strong>
            <span>{words.applicationText}</span>
            {newApplication === undefined ? (
              <code>latchkey application add --help</code>
            ) : (
              <a href={newApplication}>{words.addApplication}</a>
            )}
          </div>
        </li>
        <li>
          <div class="row-text">
            <strong>{words.invitation}</strong>
            <span>{words.invitationText}</span>
            {invitations === undefined ? <code>latchkey invite EMAIL</code> : <a href={invitations}>{words.invite}</a>}
          </div>
        </li>
      </ol>
    </Panel>
  )
}
