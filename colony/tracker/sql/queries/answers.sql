-- name: answer
SELECT body, answer FROM answers WHERE user_id = :user_id AND path = :path AND key = :key;

-- name: answer_keep
INSERT INTO answers (user_id, path, key, body, answer, at_ms)
VALUES (:user_id, :path, :key, :body, :answer, :at_ms);

-- name: answers_forget
DELETE FROM answers WHERE at_ms < :before_ms;
