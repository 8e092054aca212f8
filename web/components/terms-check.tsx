import { useContext, useId } from 'preact/hooks'
import type { TermsOfUse } from '#contract/schemas.js'
import { useWords } from '../hooks/settings.js'
import { FieldMessages } from './field.js'
import { FormContext } from './form.js'

/** The box that agrees to the terms. The terms open in another tab, so what was typed stays. */
export const TermsCheck = ({ terms }: { terms: TermsOfUse }) => {
  const words = useWords('profile-fields')
  const id = useId()
  const { problems, onEdit } = useContext(FormContext)
  const errors = problems.fields?.terms ?? []
  return (
    <div>
      <label class="check">
        <input
          type="checkbox"
          name="terms"
          value={terms.version}
          aria-required
          aria-invalid={errors.length > 0}
          aria-describedby={`${id}-errors`}
          onChange={() => onEdit('terms')}
        />{' '}
        <span>
          {words.agreeBefore}{' '}
          <a href={terms.url} target="_blank" rel="noopener">
            {words.terms}
          </a>{' '}
          {words.agreeAfter}
        </span>
      </label>
      <FieldMessages id={id} name="terms" label={words.terms} errors={errors} hint={undefined} />
    </div>
  )
}
